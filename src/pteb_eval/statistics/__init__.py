"""Statistics on numpy arrays: one module for each question, see docs/method.md. No files are read.

Everywhere, row 0 of an array of variants is the original and rows 1… are the paraphrase runs;
values are higher-is-better; and a difference is original − paraphrase, so a drop is positive.
"""
