"""What the fuzz tests share: how many inputs, what may come of one, where may be written.

The default profile takes some hundred inputs a test. With
`PTEB_EVAL_SLOW=1 pytest --timeout 0 --capture no tests/unit/test_fuzz_*.py` there are over 100,000
together, which takes half an hour; how many there were is said at the end.
"""

import atexit
import os
import random
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from pteb_eval.errors import LONGEST, UserError

FULL = bool(os.environ.get("PTEB_EVAL_SLOW"))
COUNTS = Counter()
if FULL:
    atexit.register(lambda: print(f"\n{COUNTS.total()} inputs: {dict(COUNTS)}"))


def inputs(few, many):
    """Settings of a test: `few` inputs by default, `many` in the full profile."""
    return settings(
        max_examples=many if FULL else few,
        deadline=None,
        derandomize=not FULL,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def ends_well(call, *arguments, counted=""):
    """The value of a call, or None where it ended as a user's mistake does: in one short line.

    `counted`: what an input is counted as; empty for a further call with the same one.
    """
    COUNTS.update([counted] if counted else [])
    try:
        return call(*arguments)
    except UserError as error:
        line = str(error)
        assert line.strip() and len(line.splitlines()) == 1, repr(line)
        assert len(line) <= LONGEST, line[:200]
        return None


_walls = []
_WRITING = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.truncate",
}


def _watch(event, arguments):
    """Note what Python writes, and where; what C++ writes is seen by the snapshot."""
    if not _walls:
        return
    if event == "open":
        path, mode, flags = arguments
        if not isinstance(path, str | bytes | os.PathLike):
            return
        writes = bool(flags and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
            _walls[-1].append(os.fsdecode(path))
    elif event in _WRITING:
        _walls[-1].extend(os.fsdecode(one) for one in arguments[:2] if isinstance(one, str | bytes))


sys.addaudithook(_watch)


_uses = Counter()


@contextmanager
def only_written(folder, *allowed):
    """Nothing is written but in the allowed places: by Python anywhere, by others below `folder`.

    Looking through the folder costs more than most inputs, so it is done for every 25th.
    """
    allowed = [os.path.realpath(path) for path in (*allowed, "/dev", "/proc")]

    def outside(path):
        real = os.path.realpath(path)
        return not any(real == one or real.startswith(one + os.sep) for one in allowed)

    def tree():
        return {path for path in Path(folder).rglob("*") if outside(path)}

    looks = _uses[folder] % 25 == 0
    _uses[folder] += 1
    before = tree() if looks else None
    _walls.append([])
    try:
        yield
    finally:
        written = _walls.pop()
    assert [path for path in written if outside(path)] == []
    assert not looks or tree() == before


NASTY = [
    "\0", "\ufeff", "\u202e", "\u200b", "\u2028", "\x85", "\x1a", "\x1b[31m", "\r", "\n", "\r\n",
    "\t", "\ud800", "\udfff", "\U0001f469\u200d\U0001f467", "e\u0301", "\u0130", "\uffff", "'", '"',
    "`", "\\", "{", "}", "{{ x }}", "%s", "$(id)", "; id", "=1+1", "@x", "</script>", "<!--",
    "&amp;",
    "../", "/etc/passwd", "~", ".", "..", "CON", "NUL", "-", "--", "|", "😀", "ß", "İ", "\\ud83d",
]  # fmt: skip
nasty_text = st.lists(
    st.one_of(
        st.sampled_from(NASTY), st.text(max_size=5), st.sampled_from(["a", "word ", "x" * 300])
    ),
    max_size=6,
).map("".join)
numbers = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**63, 10**400, -(10**400)]),
    st.floats(),
    st.booleans(),
)
scalars = st.one_of(st.none(), numbers, nasty_text)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(nasty_text, inner, max_size=4),
    max_leaves=8,
)


def mutants(few, many, *seeds):
    """Bytes that a few cuts, doublings, exchanges and insertions make of the seeds.

    Hypothesis finds more with an input, this makes a hundred times as many in the same time.
    """
    chance = random.Random(0)
    nasty = [text.encode("utf-8", "surrogatepass") for text in NASTY]
    for _ in range(many if FULL else few):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice([1, 1, 2, 3, 6])):
            start, length = chance.randrange(len(data) + 1), chance.choice([0, 1, 1, 2, 8, 40])
            piece, other = bytes(data[start : start + length]), chance.choice(seeds)
            there = chance.randrange(len(other) + 1)
            data[start : start + length] = chance.choice(
                [b"", piece * 3, piece[::-1], chance.choice(nasty), chance.randbytes(2),
                 other[there : there + length],
                 bytes(byte ^ (1 << chance.randrange(8)) for byte in piece)]
            )  # fmt: skip
        yield bytes(data)


@st.composite
def damaged(draw, content):
    """Bytes with a few pieces cut out, doubled, exchanged or put in."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.sampled_from([0, 1, 2, 9, 40]))
        piece = bytes(data[start : start + length])
        new = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(NASTY).map(lambda text: text.encode("utf-8", "surrogatepass")),
                st.just(piece * 3),
                st.just(piece[::-1]),
            )
        )
        data[start : start + length] = new
    return bytes(data)
