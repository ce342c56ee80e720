"""Stage `score`: mteb's own evaluators, fed with cached vectors."""
