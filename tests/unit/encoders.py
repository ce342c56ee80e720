"""A small deterministic encoder for tests of the seam with mteb."""

import zlib

import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder


class HashingEncoder(AbsEncoder):
    """Character trigrams hashed into 64 dimensions; queries and documents differ, as with prompts.

    `calls` records every text with the prompt type, subset and split that mteb passed.
    """

    def __init__(self):
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": "tests/hashing", "revision": "1", "loader": None}
        )
        self.model = None
        self.calls = []

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        kind = prompt_type.value if prompt_type is not None else None
        self.calls += [(text, kind, hf_subset, hf_split) for text in texts]
        return np.stack([self.vector(text, kind) for text in texts])

    @staticmethod
    def vector(text, kind):
        padded = f"  {text} "
        vector = np.zeros(64, dtype=np.float32)
        for start in range(len(padded) - 2):
            code = zlib.crc32(padded[start : start + 3].encode())
            vector[code % 64] += 1 if code & 64 else -1
        vector[{"query": 0, "document": 1, None: 2}[kind]] += 0.5
        return vector / np.linalg.norm(vector)
