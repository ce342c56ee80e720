"""Vega, Vega-Lite and Vega-Embed as one script, which the page carries: it works offline.

The file beside this one is what the package vl-convert-python 1.9.0 bundles, unchanged (Vega 6.2.0,
Vega-Lite 6.4, Vega-Embed 7.0.2; licenses in LICENSE). A test makes it anew and compares. To update
it, raise the version in pyproject.toml and run

    python -c "import vl_convert; print(end=vl_convert.javascript_bundle())" > vega.js

It lies here and is no dependency, since bundling takes seconds and the package 84 MB.
"""

from pathlib import Path


def script() -> str:
    """The script; it defines `vegaEmbed`."""
    return Path(__file__).with_name("vega.js").read_text(encoding="utf-8")
