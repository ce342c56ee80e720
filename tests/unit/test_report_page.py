"""The report in a real browser: sort, filter, read instances; offline, by keyboard, on a phone."""

import re
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from report_run import FakeRun
from review_run import HOSTILE

from pteb_eval.report import stage

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: `apt-get install chromium` brings one"
)
STS, ACCURACY, CLUSTERS = "cosine_spearman", "accuracy", "v_measure"
BIDI = "he said \u05e9\u05dc\u05d5\u05dd \u202eevil\u202c and \u2066more"
MARKUP = "<img src=https://example.invalid/x.png onerror=alert(1)> </bdi></p>"
TEXTS = [*HOSTILE, BIDI, MARKUP, "y" * 100_000, " ", "word " * 700]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    tasks = {"first": STS, "groups": CLUSTERS, "offensive-one": ACCURACY}
    run = FakeRun(
        tmp_path_factory.mktemp("run"), ["alpha", "beta", "gamma"], tasks, texts=TEXTS, judged=True,
        drops={"alpha": 0.06, "beta": 0.05, "gamma": -0.01}, warnings=["one"] * 6,
        suite=["offensive-one"],
    )  # fmt: skip
    stage.run(run.settings(), run.layout.root)
    return run.layout.report


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def chromium(browser, page):
    """The browser at the drawn page, which must have nothing to complain of and ask for nothing."""
    browser.requests.clear(), browser.console.clear(), browser.dialogs.clear()
    browser.look()
    opened(browser, page)
    yield browser
    assert browser.console == []
    assert browser.requests == []
    assert browser.dialogs == []


def opened(browser, path):
    browser.open(path)
    browser.run("localStorage.clear()")
    browser.open(path)
    until(browser, "document.documentElement.dataset.drawn !== undefined")


def until(browser, condition):
    """Wait until a JavaScript expression is true."""
    browser.run(
        "new Promise((done) => { const look = () => "
        f"({condition}) ? done() : setTimeout(look, 20); look(); }})"
    )


def choose(browser, selector, value):
    browser.run(
        f"(() => {{ const one = document.querySelector('{selector}'); one.value = {value!r};"
        " one.dispatchEvent(new Event(one.tagName === 'SELECT' ? 'change' : 'input',"
        " {bubbles: true})); })()"
    )


def column(browser, number):
    """Texts of a column of the rows of the main table that are shown."""
    return browser.run(
        "[...document.querySelector('#results').tBodies[0].rows].filter((row) => !row.hidden)"
        f".map((row) => row.cells[{number}].textContent.trim())"
    )


def to_instances(browser):
    browser.run("document.querySelector('#instances').scrollIntoView()")
    until(browser, "document.querySelector('.instance')")


def test_it_asks_for_nothing_and_may_not(chromium, page):
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<(link|img|iframe|object|embed)\b|<script[^>]+src=|@import", markup)
    refused = "fetch('https://example.invalid').then(() => 'sent', () => 'refused')"
    assert chromium.run(refused) == "refused"
    chromium.run("new Promise((done) => setTimeout(done, 50))")
    chromium.console.clear()  # of the refusal that was asked for


def test_a_column_sorts_both_ways_as_numbers(chromium):
    title = "#results thead th:nth-child(5)"
    assert chromium.text(title) == "Δ, points"
    chromium.click(f"{title} button")
    assert column(chromium, 4) == ["−1.0"] * 3 + ["+5.0"] * 3 + ["+6.0"] * 3
    sort = f"document.querySelector('{title}').getAttribute('aria-sort')"
    assert chromium.run(sort) == "ascending"
    chromium.click(f"{title} button")
    assert column(chromium, 4) == ["+6.0"] * 3 + ["+5.0"] * 3 + ["−1.0"] * 3
    assert chromium.run(sort) == "descending"
    chromium.click("#results thead th:nth-child(1) button")
    assert column(chromium, 0) == ["alpha"] * 3 + ["beta"] * 3 + ["gamma"] * 3
    assert chromium.run(sort) is None
    chromium.click("#results thead th:nth-child(8) button")
    assert column(chromium, 7) == ["< 0.001"] * 6 + ["0.410"] * 3


def test_rows_are_found_by_words_and_verdict(chromium):
    assert chromium.text("#count") == "9 rows"
    choose(chromium, "#find", "GROUPS be")
    assert column(chromium, 0) == ["beta"] and chromium.text("#count") == "1 of 9 rows"
    choose(chromium, "#find", "")
    choose(chromium, "#verdict", "underpowered")
    assert column(chromium, 0) == ["gamma"] * 3
    choose(chromium, "#verdict", "")
    assert chromium.text("#count") == "9 rows"


def test_a_packed_table_is_built_when_it_is_opened(chromium):
    details = "document.querySelector('details[data-title=\"model pairs\"]')"
    assert chromium.run(f"{details}.querySelector('table')") is None
    chromium.run(f"{details}.open = true")
    until(chromium, f"{details}.querySelector('table')")
    assert chromium.run(f"{details}.querySelectorAll('tbody tr').length") == 9
    chromium.run(f"{details}.querySelector('th button').click()")
    assert chromium.run(f"{details}.querySelector('th').getAttribute('aria-sort')") == "ascending"


def test_charts_follow_the_choice_of_a_task(chromium):
    charts = chromium.run("[...document.querySelectorAll('figure.chart')].map((one) => "
                          "[one.dataset.chart, one.querySelectorAll('svg').length])")  # fmt: skip
    assert charts == [
        [name, 1] for name in ("ranks", "average", "spread", "width", "levels", "drift")
    ]
    figure = "figure[data-chart=levels]"
    assert "accuracy" in chromium.run(f"document.querySelector('{figure} svg').textContent")
    marks = f"document.querySelectorAll('{figure} [aria-roledescription=point]')"
    labels = f"[...{marks}].map((one) => one.getAttribute('aria-label') ?? '')"
    assert len(chromium.run(labels)) == 4
    assert any("model: gamma" in one and "× 100: 60" in one for one in chromium.run(labels))
    choose(chromium, f"{figure} select", "1")
    until(chromium, f"{labels}.some((one) => one.includes('gamma') && one.includes('× 100: 70'))")
    assert "model: alpha" in " ".join(chromium.run(labels))


def test_the_heat_map_by_mouse_touch_and_keyboard(chromium):
    cells = "document.querySelectorAll('table.heat button')"
    assert chromium.run(f"[...{cells}].filter((one) => one.tabIndex === 0).length") == 1
    chromium.run(f"{cells}[0].dispatchEvent(new MouseEvent('mouseenter'))")
    assert chromium.text("#tip").startswith("alpha on first: Δ +6.00, interval +3.00 to +9.00.")
    chromium.run(f"{cells}[0].dispatchEvent(new MouseEvent('mouseleave'))")
    assert chromium.run("document.querySelector('#tip').hidden")
    chromium.click("table.heat button")
    assert not chromium.run("document.querySelector('#tip').hidden")
    chromium.run(f"{cells}[0].focus()")
    chromium.press("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown")  # the last leaves it there
    assert chromium.run("document.activeElement.getAttribute('aria-label')").startswith(
        "gamma on groups: Δ −1.00"
    )
    assert chromium.text("#tip").startswith("gamma on groups") and "underpowered" in chromium.text(
        "#tip"
    )
    assert chromium.run(f"[...{cells}].filter((one) => one.tabIndex === 0).length") == 1
    chromium.press("Escape")
    assert chromium.run("document.querySelector('#tip').hidden")


def test_an_instance_shows_what_changed(chromium):
    to_instances(chromium)
    assert "29 here; the page has 30 of the 30 instances" in chromium.text("#shown")
    assert chromium.text(".instance .moved") == "|Δ| 0.80"
    chromium.run("document.querySelector('.instance').open = true")
    until(chromium, "document.querySelector('.instance .part')")
    assert chromium.text(".instance caption") == "cosine similarity of the two texts; gold: 0"
    values = chromium.run("[...document.querySelectorAll('.instance table tbody tr')].map("
                          "(row) => row.innerText.split('\\t'))")  # fmt: skip
    assert values[2] == ["gamma", "0.90", "0.10", "+0.80", *["0.10"] * 6]
    runs = "document.querySelectorAll('.instance .part')[1].querySelectorAll('li')"
    assert chromium.run(f"{runs}.length") == 6
    assert chromium.run(f"{runs}[1].querySelector('ins').textContent") == "again 2 river"
    assert chromium.run(f"{runs}[1].querySelector('.badge').textContent") == "judge: 2 of 5"
    first = "document.querySelector('.instance .part li')"
    assert chromium.run(f"{first}.innerText").endswith("copy judge: 1 of 5")
    assert chromium.run(f"{first}.querySelector('ins')") is None
    # Fewer by words, others by the order; one failed.
    choose(chromium, "#search", "family")
    assert chromium.run("document.querySelectorAll('.instance').length") == 1
    choose(chromium, "#search", "")
    assert chromium.run("document.querySelectorAll('.instance').length") == 20
    chromium.click("#more")
    assert chromium.run("document.querySelectorAll('.instance').length") == 29
    assert chromium.run(
        "document.activeElement.closest('.instance').previousElementSibling !== null"
    )
    choose(chromium, "#order", "left out")
    assert chromium.run("document.querySelectorAll('.instance').length") == 1
    chromium.run("document.querySelector('.instance').open = true")
    until(chromium, "document.querySelector('.badge.bad')")
    assert chromium.text(".badge.bad") == "empty" and "Left out of all scores" in chromium.text(
        "#list"
    )
    choose(chromium, "#block", "1")
    choose(chromium, "#order", "sample")
    until(chromium, "document.querySelectorAll('.instance').length === 20")
    assert "no values of single instances" in chromium.text("#shown")


def test_what_changed_is_marked_in_stretches(chromium):
    texts = "'The cat sat on the mat.', 'The small dog sat here on the MAT.'"
    assert [part for part in chromium.run(f"differences({texts})") if part[1]] == [
        ["same", "The"], ["same", " "], ["del", "cat"], ["same", " "], ["ins", "small dog"],
        ["same", " "], ["same", "sat"], ["same", " "], ["ins", "here"], ["same", " "],
        ["same", "on"], ["same", " "], ["same", "the"], ["same", " "], ["same", "MAT"],
        ["same", "."],
    ]  # fmt: skip
    found = chromium.run("differences('同じ文です', '別の文です')")  # no spaces between words
    assert ["same", "文"] in found and found[-1][1] in ("", "です")


def test_nothing_in_a_text_is_run_or_hidden(chromium):
    to_instances(chromium)
    chromium.click("#more")
    chromium.run("document.querySelectorAll('.instance').forEach((one) => { one.open = true; })")
    until(chromium, "document.querySelectorAll('.instance .part').length >= 50")
    shown = chromium.run("[...document.querySelectorAll('.instance .part > p > .text')]"
                         ".map((one) => one.textContent)")  # fmt: skip
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[6], HOSTILE[7], MARKUP):
        assert text in shown
    assert "zeroU+200Bwidth and U+202Eturned\u202c" in shown
    assert "a nul U+0000 and a bell U+0007" in shown
    assert BIDI.replace("\u202e", "U+202E").replace("\u2066", "U+2066") in shown
    assert "y" * 2000 in shown and "100000 characters in all" in chromium.text("#list")
    assert (
        chromium.run("document.querySelectorAll('img, iframe, main script:not([type])').length")
        == 0
    )
    chromium.look(320)
    assert chromium.run("document.documentElement.scrollWidth - innerWidth") <= 0


def test_offensive_texts_are_not_shown_unasked(chromium):
    to_instances(chromium)
    choose(chromium, "#block", "2")
    until(chromium, "!document.querySelector('#warned').hidden")
    assert chromium.run("document.querySelectorAll('.instance').length") == 0
    choose(chromium, "#order", "sample")
    assert chromium.run("document.querySelectorAll('.instance').length") == 0
    chromium.click("#open")
    until(chromium, "document.querySelector('.instance')")
    assert chromium.run("document.querySelector('#warned').hidden")
    choose(chromium, "#block", "0")
    until(chromium, "document.querySelectorAll('.instance').length === 20")


def test_light_and_dark_by_system_and_by_choice(chromium, page):
    paper = "getComputedStyle(document.body).backgroundColor"
    axis = "getComputedStyle(document.querySelector('.role-axis-label text')).fill"
    light, dark = (
        ("rgb(255, 255, 255)", "rgb(29, 31, 35)"),
        ("rgb(21, 23, 26)", "rgb(231, 233, 236)"),
    )
    assert (chromium.run(paper), chromium.run(axis)) == light
    chromium.look(scheme="dark")
    assert (chromium.run(paper), chromium.run(axis)) == dark
    choose(chromium, "#theme", "light")
    assert (chromium.run(paper), chromium.run(axis)) == light
    chromium.look(scheme="light")
    choose(chromium, "#theme", "dark")
    assert (chromium.run(paper), chromium.run(axis)) == dark
    chromium.open(page)  # and it is remembered
    assert chromium.run(paper) == dark[0]
    chromium.send("Emulation.setEmulatedMedia", media="print")
    assert chromium.run(paper) == light[0]  # paper is white
    assert chromium.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    chromium.send("Emulation.setEmulatedMedia", media="")


def test_everything_is_reached_by_the_tab_key(chromium):
    wanted = chromium.run(
        "[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex]')]"
        ".filter((one) => one.tabIndex >= 0 && one.checkVisibility()).length"
    )
    chromium.run("document.activeElement.blur(); window.met = new Set(); window.dull = []")
    for _ in range(wanted + 5):
        chromium.press("Tab")
        chromium.run(
            "(() => { const one = document.activeElement; if (one === document.body) return;"
            " met.add(one); const look = getComputedStyle(one);"
            " if (look.outlineStyle === 'none') dull.push(one.outerHTML.slice(0, 80)); })()"
        )
    assert chromium.run("met.size") >= wanted
    assert chromium.run("dull") == []
    chromium.run("document.querySelector('#results th button').focus()")
    chromium.press("Enter")
    assert (
        chromium.run("document.querySelector('#results th').getAttribute('aria-sort')")
        == "ascending"
    )


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("dark", 1000)])
def test_it_shuts_nobody_out(chromium, scheme, width):
    """axe-core's rules, contrast among them, and no sideways scrolling."""
    import axe_core_python

    script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    chromium.look(width, scheme=scheme)
    to_instances(chromium)
    chromium.run("document.querySelectorAll('details:not(.instance), .instance:nth-child(-n+2)')"
                 ".forEach((one) => { one.open = true; })")  # fmt: skip
    until(chromium, "document.querySelectorAll('.instance .part').length === 4"
                    " && !document.querySelector('details.table > script')")  # fmt: skip
    chromium.run(script + "; 0")
    found = chromium.run("axe.run().then((result) => result.violations.map("
                         "(one) => one.id + one.nodes[0].html.slice(0, 200)))")  # fmt: skip
    assert found == []
    assert chromium.run("document.documentElement.scrollWidth - innerWidth") <= 0


def test_twenty_models_and_tasks_stay_small_and_light(chromium, tmp_path):
    models = [f"organization/model-of-a-size-{number}" for number in range(20)]
    tasks = {f"SomeTaskOfMteb{number}": (STS, ACCURACY)[number % 2] for number in range(20)}
    run = FakeRun(tmp_path, models, tasks, n=501, words=30)
    stage.run(run.settings(), run.layout.root)
    text = run.layout.report.read_text(encoding="utf-8")
    assert 1_500_000 < len(text.encode()) < 10_000_000
    found = re.findall(r'data-shown="(\d+)" data-total="(\d+)"', text)
    assert len(found) == 20 and all(int(shown) >= 100 for shown, _ in found)
    assert {total for _, total in found} == {"501"}
    opened(chromium, run.layout.report)
    # What is not asked for is not built, so the page opens at once.
    assert chromium.run("document.querySelectorAll('*').length") < 15_000
    assert chromium.run("document.querySelectorAll('table.heat button').length") == 400
    choose(chromium, "#find", "size-7 mteb3")
    assert len(column(chromium, 0)) == 1
    chromium.look(400)
    assert chromium.run("document.documentElement.scrollWidth - innerWidth") <= 0
