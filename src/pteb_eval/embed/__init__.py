"""Stage `embed`: one vector for each model, prompt and distinct text."""
