"""`pteb-eval review`: people rate a blinded sample of paraphrases, and what their ratings say."""
