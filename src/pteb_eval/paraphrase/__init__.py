"""Stage `paraphrase`: every text in scope reworded, once for each generator and run."""
