"""Step versions of the stages that use a GPU: raised by hand when what they make changes.

Editing their code alone reruns nothing, since a rerun there is dear.
"""

PARAPHRASE_STEP = "1"
EMBED_STEP = "1"
JUDGE_STEP = "1"
