"""The page in a real browser: rate by keyboard, save, import; what shuts nobody out."""

import json
import random
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from browser import CHROMIUM, Browser
from review_run import HOSTILE, make_run
from typer.testing import CliRunner

from pteb_eval.cli.app import app
from pteb_eval.review.key import CHECK, PAIR, read_key
from pteb_eval.review.page import Item, page

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: `apt-get install chromium` brings one"
)
TEXTS = ["#first", "#second"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def chromium(browser):
    """The browser, which must have nothing to complain of and ask for nothing."""
    browser.requests.clear(), browser.console.clear(), browser.dialogs.clear()
    browser.look()
    yield browser
    assert browser.console == []
    assert browser.requests == []


@pytest.fixture
def export(tmp_path, monkeypatch):
    """Exports a sample by the command line: the page, the key, a function that calls it."""
    monkeypatch.chdir(tmp_path)
    flow = make_run(Path(), texts=[*HOSTILE, *(f"text {i}" for i in range(12))], n_runs=1)
    Path("c.yaml").write_text(yaml.safe_dump(flow.config.model_dump(mode="json")))

    def call(*arguments):
        result = CliRunner().invoke(app, ["review", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    out = call("export", "c.yaml", "--pairs", "8", "--checks", "4", "--checks-from", "checks.csv")
    name = Path(out.partition(":")[0])
    return tmp_path / name, name.with_suffix(".key.parquet"), call


def test_rate_ten_by_keyboard_save_and_import(chromium, export, tmp_path):
    html, key_path, call = export
    key = read_key(key_path)[0].set_index("item")
    chromium.open(html)
    ids = chromium.run("JSON.parse(document.getElementById('data').textContent).items"
                       ".map((item) => item.id)")  # fmt: skip
    assert chromium.text("#count") == "0 of 12 rated"
    # Checks as they are known, pairs 4 and 5 in turn; the first is rated wrongly and taken back.
    chromium.press("0", "u")
    assert chromium.text("#heading") == "Pair 1 of 12"
    ratings = {}
    for place, item in enumerate(ids[:10]):
        row = key.loc[item]
        ratings[item] = int(row.gold) if row.kind == CHECK else 4 + place % 2
        assert chromium.text("#heading") == f"Pair {place + 1} of 12"
        chromium.press(str(ratings[item]))
    assert chromium.text("#count") == "10 of 12 rated"

    # A page that is opened again goes on where it was.
    chromium.open(html)
    assert chromium.text("#heading") == "Pair 11 of 12"
    chromium.downloads_to(tmp_path)
    chromium.click("#json")
    assert "name or initials" in chromium.text("#saved")
    chromium.press("Z", "o", "ë", "5")  # into the field, where 5 rates nothing
    chromium.click("#json"), chromium.click("#csv")
    stem = f"ratings-{html.stem}-Zoë5"
    files = [chromium.saved(tmp_path / f"{stem}.{kind}") for kind in ("json", "csv")]
    assert chromium.text("#saved").startswith("10 of 12 ratings saved as ratings-")
    content = json.loads(files[0].read_text())
    assert {row["item"]: row["rating"] for row in content["ratings"]} == ratings

    assert "| Zoë5 " in call("import", *map(str, files), "--config", "c.yaml")
    raters = pd.read_csv("results/checked/tables/review_raters.csv").loc[0]
    review = pd.read_csv("results/checked/tables/review.csv").loc[0]
    pairs = sum(key.loc[item].kind == PAIR for item in ratings)
    assert (raters.n_pairs, raters.n_checks, raters.checks_passed) == (pairs, 10 - pairs, 1.0)
    assert (review.n_pairs, review.n_ratings, review.kept_share) == (pairs, pairs, 1.0)


def shown(chromium):
    """The rating of the pair that is shown; None at the end, where none is."""
    pressed = "document.querySelector('#scale [aria-pressed=true]')"
    return chromium.run(f"document.getElementById('pair').hidden ? null : {pressed}.value")


def test_moving_skipping_and_the_end(chromium, tmp_path):
    html = tmp_path / "p.html"
    html.write_text(page("s-move", [Item(f"i{n}", f"a{n}", f"b{n}") for n in range(3)]))
    chromium.open(html)
    chromium.press("ArrowLeft", "ArrowRight", "3", "2")
    assert chromium.text("#end-heading") == "1 of 3 pairs have no rating yet."
    chromium.click("#missing")
    assert chromium.text("#heading") == "Pair 1 of 3" and chromium.text("#first") == "a0"
    chromium.click("#scale button[value='5']")
    assert chromium.text("#end-heading").startswith("All 3 pairs are rated.")
    assert chromium.run("document.activeElement.id") == "end-heading"
    chromium.press("ArrowLeft")
    assert shown(chromium) == "2"
    chromium.press("4")  # a change of mind, which can be taken back too
    assert shown(chromium) is None
    chromium.press("u")
    assert shown(chromium) == "2"
    chromium.send("Input.dispatchKeyEvent", type="keyDown", key="à", code="Digit0")  # in France
    assert shown(chromium) is None and chromium.text("#status") == "Rated 0."
    chromium.press("Backspace")
    assert shown(chromium) == "2" and chromium.text("#count") == "3 of 3 rated"
    chromium.click("#keys")
    chromium.press("0")  # keys are switched off
    chromium.click("#keys")
    chromium.send("Input.dispatchKeyEvent", type="keyDown", key="1", autoRepeat=True)
    assert shown(chromium) == "2"


def test_nothing_in_a_text_is_run_or_hidden(chromium, tmp_path):
    html = tmp_path / "p.html"
    texts = [*HOSTILE, "lone \ud800 surrogate", "<img src=https://example.invalid/x.png>"]
    items = [Item(f"i{n}", text, text[::-1]) for n, text in enumerate(texts)]
    html.write_bytes(page("s-hostile", items).encode())
    chromium.look(320)
    chromium.open(html)
    shown = []
    for _ in texts:
        shown.append(chromium.text("#first"))
        wide = chromium.run("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, shown[-1][:50]
        chromium.press("ArrowRight")
    assert shown[0] == HOSTILE[0] and shown[1] == HOSTILE[1] and shown[6] == HOSTILE[6]
    assert shown[2] == "zeroU+200Bwidth and U+202Eturned\u202c"
    assert shown[3] == "a nul U+0000 and a bell U+0007"
    assert shown[5] == "line\nbreaks\nand\ttabs"
    assert shown[8] == "lone U+D800 surrogate" and shown[9] == texts[9]
    assert chromium.run("document.querySelectorAll('img, main script').length") == 0


def spelled(text):
    """A text as the page shows it: by its number, what shows as nothing or turns the text."""
    hidden = r"(?![\n\t])[\x00-\x1f\x7f-\x9f\u200b\u202d\u202e\u2060\ufeff\ud800-\udfff]"
    return re.sub(hidden, lambda one: f"U+{ord(one[0]):04X}", re.sub(r"\r\n?", "\n", text))


def test_texts_of_all_sorts_are_shown_as_they_stand(chromium, tmp_path):
    """Generated texts, all on one page, compared letter by letter; nothing of them is markup."""
    pieces = [*HOSTILE, "<script>owned = 1</script>", "<svg onload=owned=1>", "<!--<script>", "]]>",
              "\u2066isolate\u2069", "\u202bembedded\u202c", "a\u0301\u0302", "\u2028", "&lt;",
              "\\u003c",
              "javascript:owned=1", "</textarea>", "\ud800", "\udfff\ud800", "\x1b[31m", "\ufffe",
              "${owned=1}",
              "\x00", "x" * 100_000, " " * 5000, "<" * 20_000]  # fmt: skip
    chance = random.Random(3)
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 3))) for _ in range(80)]
    texts += ["".join(chr(chance.randrange(0x2FFF)) for _ in range(60)) for _ in range(20)]
    texts = [re.sub("[\ud800-\udbff](?=[\udc00-\udfff])", "", text) for text in texts]
    html = tmp_path / "p.html"
    html.write_bytes(
        page("s-all", [Item(f"i{n}", t, t[::-1]) for n, t in enumerate(texts)]).encode()
    )
    chromium.open(html)
    for text in texts:
        assert chromium.run("document.getElementById('first').textContent") == spelled(text)
        inside = "document.querySelectorAll('.text *:not(span.sign)').length"
        assert chromium.run(f"[{inside}, typeof owned]") == [0, "undefined"]
        chromium.press("ArrowRight")
    assert chromium.run("document.scripts.length") == 2


def test_a_browser_that_keeps_nothing_says_so(chromium, tmp_path):
    html = tmp_path / "p.html"
    html.write_text(page("s-none", [Item(f"i{n}", "a", "b") for n in range(3)]))
    refuse = "Storage.prototype.setItem = () => { throw new Error('full'); }"
    script = chromium.send("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    chromium.open(html)
    chromium.press("4")
    assert "save a file before you close it" in chromium.text("#unkept")
    assert chromium.text("#count") == "1 of 3 rated"
    chromium.send("Page.removeScriptToEvaluateOnNewDocument", **script)
    chromium.open(html)
    assert chromium.dialogs == ["beforeunload"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000])
def test_it_shuts_nobody_out(chromium, export, scheme, width):
    """axe-core's rules, contrast among them; no sideways scrolling; targets of a finger's size."""
    import axe_core_python

    script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    chromium.look(width, scheme=scheme)
    chromium.open(export[0])
    chromium.run("localStorage.clear()")
    chromium.open(export[0])
    chromium.press("4", "ArrowLeft")
    chromium.run(script + "; 0")
    found = chromium.run("axe.run().then((result) => result.violations.map("
                         "(one) => [one.id, one.nodes.map((node) => node.html)]))")  # fmt: skip
    assert found == []
    assert chromium.run("document.documentElement.scrollWidth - innerWidth") <= 0
    targets = "[...document.querySelectorAll('#scale button, .row button')]"
    assert chromium.run(f"{targets}.every((one) => one.getBoundingClientRect().height >= 40)")
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(21, 23, 26)" if scheme == "dark" else "rgb(255, 255, 255)")
