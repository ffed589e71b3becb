"""What is read in C is what the full reader reads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.errors import BadInput
from chaoskit.interop.jepsen import lines, scan
from chaoskit.interop.jepsen.names import Interned

KEYS = ["5", "6", ":x", '"orders/3"', "123456789012345"]
OTHERS = [':error [:timeout "a (b"]', ":ext {:a 1, :b nil}", ":node n1", ":more #{1}", ":note \\a", ":index 7"]
CHARACTERS = '[](){}":,;#\\ \n\r\t017nok\u00e9'


def history(random: Random) -> str:
    return random.choice(["", "[", "; a comment\n"]) + "".join(operation(random) for _ in range(random.randrange(6)))


def operation(random: Random) -> str:
    f = random.choice(["send", "poll", "txn", "assign", "subscribe", "crash"])
    fields = [
        f":time {random.choice([0, 17, 123456789012345, 2**61])}",
        f":type :{random.choice(['invoke', 'ok', 'fail', 'info'])}",
        f":process {random.choice(['0', '3', ':nemesis', '4194303', '4194304'])}",
        f":f :{f}",
        f":value {value(random, f)}",
        *random.sample(OTHERS, random.randrange(3)),
        *[":rebalance-log [{:keys [5]}]"] * (random.random() < 0.1),
    ]
    random.shuffle(fields)
    between = random.choice([", ", " ", ",\n ", "\t"])
    before = random.choice(["", "#jepsen.history.Op", "#jepsen.history.Op "])
    return before + "{" + between.join(fields) + "}" + random.choice(["\n", " ", ", ", "\r\n", ""])


def value(random: Random, f: str) -> str:
    if f == "crash" or random.random() < 0.1:
        return "nil"
    if f in ("assign", "subscribe"):
        return f"[{' '.join(random.sample(KEYS, random.randrange(3)))}]"
    return "[" + ", ".join(micro_op(random) for _ in range(random.randrange(4))) + "]"


def micro_op(random: Random) -> str:
    key, sent = random.choice(KEYS), random.choice(["1", '"v"'])
    pairs = [f"[{random.choice(['nil', 3])} {random.choice([8, ':y'])}]" for _ in range(random.randrange(4))]
    polled = " ".join(f"{key} [{' '.join(pairs)}]" for key in random.sample(KEYS, random.randrange(3)))
    forms = [
        f"[:send {key} {sent}]", f"[:send {key} [{random.choice(['nil', 4, -1])} {sent}]]",
        "[:poll]", "[:poll nil]", f"[:poll {{{polled}}}]",
    ]  # fmt: skip
    return random.choice(forms)


def damaged(random: Random, text: str) -> str:
    """Replace, insert or remove one character."""
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(["", random.choice(CHARACTERS)]) + text[at + random.randrange(2) :]


def read(text: str, by: Callable[..., Any], block_bytes: int) -> object:
    """Return all that is in a history, or why it is refused."""
    names = Interned()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(lines, "scan", by)
        patch.setattr(lines, "_BLOCK_BYTES", block_bytes)
        path = Path(folder) / "history.edn"
        path.write_text(text, newline="")
        try:
            blocks = list(lines.Lines(path, names).blocks())
        except BadInput as error:
            return str(error).removeprefix(folder)
    first, entries, messages = 0, [], []
    for block in blocks:
        entries += block.entries.tolist()
        messages += [(first + row[0], *row[1:]) for row in block.messages.tolist()]
        first += block.entries.size
    nemesis = [row for block in blocks for row in block.nemesis]
    return entries, messages, [text for block in blocks for _, text in block.rebalances], nemesis, names.texts


@given(st.integers(0, 2**40), st.integers(0, 2), st.sampled_from([16, 100, 10_000]))
def test_the_full_reader_reads_the_same(seed: int, damages: int, block_bytes: int) -> None:
    random = Random(seed)
    text = history(random)
    for _ in range(damages):
        text = damaged(random, text)

    assert read(text, scan.scan, block_bytes) == read(text, scan.skip_blanks, 10_000)


def test_what_most_operations_look_like_is_read_in_c() -> None:
    text = (
        b"{:index 0, :time 1, :type :ok, :process 2, :f :txn, :value [[:send 5 [0 1]] [:poll {6 [[nil 7]], :x []}]]}\n"
    )

    entries, messages, at, line = scan.scan(text * 2, 0, 10, 4, {":x": 99})

    assert np.frombuffer(entries, scan.ENTRY).tolist() == [(1, 2, 4, 1, 2), (1, 2, 5, 1, 2)]
    sent, polled = (5, 0, 1, 0, scan.SENT), (6, scan.NONE, 7, 1, scan.POLLED)
    assert np.frombuffer(messages, scan.MESSAGE).tolist() == [(e, *row) for e in (10, 11) for row in (sent, polled)]
    assert (at, line) == (2 * len(text), 6)


def test_it_is_compiled_here() -> None:
    assert scan.COMPILED, "run `make setup`: it compiles chaoskit/interop/jepsen/scan.c"
