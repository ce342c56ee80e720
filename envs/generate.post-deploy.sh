#!/bin/sh
# Run by Snakemake in a new environment, in the project's folder: puts pteb-eval itself into it.
exec python -m pip install --no-deps --no-build-isolation --editable .
