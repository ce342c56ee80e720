"""Pictures of a report for the README, always of the same size; Chromium takes them.

python benchmarks/screenshots.py results/demo/report.html docs/images
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
from browser import Browser

DRAWN = "document.documentElement.dataset.drawn !== undefined"
INSTANCE = "document.querySelector('.instance')"
# Name, width, height, color scheme, what is brought to the top, what is opened first.
PICTURES = (
    ("report", 1200, 1350, "light", "header", None),
    ("report-dark", 1000, 1000, "dark", "#instances", INSTANCE),
    ("report-phone", 400, 1000, "light", "#drops", None),
)


def wait_until(browser, condition):
    look = f"const look = () => ({condition}) ? done() : setTimeout(look, 50); look();"
    browser.run(f"new Promise((done) => {{ {look} }})")


def picture(browser, page, path, width, height, scheme, top, opened):
    browser.look(width, height, scheme)
    browser.open(page)
    wait_until(browser, DRAWN)
    browser.run(f"document.querySelector('{top}').scrollIntoView({{behavior: 'instant'}})")
    if opened:
        wait_until(browser, f"{opened} !== null")
        browser.run(f"{opened}.open = true")
        browser.run(f"document.querySelector('{top}').scrollIntoView({{behavior: 'instant'}})")
    browser.run("new Promise((done) => setTimeout(done, 500))")
    browser.picture(path, beyond=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        for name, *more in PICTURES:
            path = given.folder / f"{name}.png"
            picture(browser, given.report.resolve(), path, *more)
            print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
