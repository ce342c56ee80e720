"""A sentence-transformers model of a few kilobytes, made on the spot."""

from pathlib import Path


def save_tiny_model(folder: Path, prompts=None, max_length=16):
    """Save an untrained BERT of one layer, whose words are single letters and a few marks."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    network = folder.with_name(f"{folder.name}-network")
    network.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:!?'-"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (network / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=24, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(network)
    BertTokenizerFast(str(network / "vocab.txt")).save_pretrained(network)
    transformer = Transformer(str(network), max_seq_length=max_length)
    model = SentenceTransformer(
        modules=[transformer, Pooling(24), Normalize()], prompts=prompts, device="cpu"
    )
    model.save(str(folder))
    return folder
