"""The implicit-semantics suite: does a model hear what is meant rather than what is said?

Tasks at three levels (utterance, speaker, society) from five data sets, as mteb tasks that the same
workflow runs. Protocol: Sun et al. (arXiv 2506.08354). What is declared of each set stands in
`resources/implicit/suite.yaml`.
"""
