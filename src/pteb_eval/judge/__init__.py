"""Stage `judge`: was the meaning kept? Ratings of pairs of texts, from 0 to 5, and their checks."""
