"""Jepsen's histories: what is imported, what is found in them, and that an export is the same again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaoskit.history.reading.reader import History
from chaoskit.interop.jepsen import lines
from chaoskit.interop.jepsen.edn import read_all
from chaoskit.interop.jepsen.exporting import export_edn
from chaoskit.interop.jepsen.importing import import_edn
from chaoskit.interop.jepsen.lanes import lanes
from chaoskit.judge.findings.checking import find
from chaoskit.judge.subject.subject import read_subject
from chaoskit.model.message import PRODUCER_SHIFT


def edn(*calls: tuple[Any, ...]) -> str:
    """Write operations, one after the other: process, f, value; a type other than ok may follow."""
    return "".join(f"{{{entry}}}\n" for entry in entries(*calls))


def entries(*calls: tuple[Any, ...]) -> Iterator[str]:
    for number, (process, f, value, *kind) in enumerate(calls):
        head = f":index {2 * number}, :time {20 * number}, :type :invoke, :process {process}, :f :{f}"
        yield f"{head}, :value {invoked(f, value)}"
        done = kind[0] if kind else "ok"
        head = f":index {2 * number + 1}, :time {20 * number + 9}, :type :{done}, :process {process}, :f :{f}"
        yield f"{head}, :value {value}"


def invoked(f: str, value: str) -> str:
    """Return the value of the invocation that completed with this one."""
    if f in ("assign", "subscribe"):
        return value
    forms = next(read_all(value)) or [["poll"]]
    texts = ["[:poll]" if form[0] == "poll" else f"[:send {form[1]} {bare(form[2])}]" for form in forms]
    return f"[{' '.join(texts)}]"


def bare(sent: Any) -> Any:
    """Return the value of what was sent, without its position."""
    return sent[1] if isinstance(sent, list) else sent


def imported(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "history.edn"
    path.write_text(text)
    return import_edn(path, tmp_path / "store")


def anomalies(folder: Path) -> set[str]:
    return set(find(History.open(folder), 60 * 10**9)["anomaly"].to_pylist())


def rows(folder: Path, topic: str = "k5") -> list[tuple[Any, ...]]:
    names = ["op", "direction", "value", "position"]
    return [tuple(row.values()) for row in History.open(folder).messages(topic, 0).select(names).to_pylist()]


SEND_0, SEND_1, SEND_2 = ((0, "send", f"[[:send 5 [{at} 14{at}]]]") for at in range(3))
READ_ALL = (1, "poll", "[[:poll {5 [[0 140] [1 141] [2 142]]}]]")

FIXTURES: dict[str, tuple[set[str], tuple[tuple[Any, ...], ...]]] = {
    "correct": (set(), (SEND_0, SEND_1, SEND_2, READ_ALL)),
    "lost-write": ({"lost"}, (SEND_0, SEND_1, SEND_2, (1, "poll", "[[:poll {5 [[0 140] [2 142]]}]]"))),
    "unseen": ({"unseen"}, (SEND_0, SEND_1, SEND_2, (1, "poll", "[[:poll {5 [[0 140] [1 141]]}]]"))),
    "duplicate": ({"duplicate"}, (SEND_0, (1, "poll", "[[:poll {5 [[0 140] [1 140]]}]]"))),
    "inconsistent-offsets": (
        {"offset-conflict"},
        (SEND_0, (2, "send", "[[:send 5 [0 145]]]"), (1, "poll", "[[:poll {5 [[0 140]]}]]")),
    ),
    "nonmonotonic-send": (
        {"reordered"},
        (
            (0, "send", "[[:send 5 [1 140]]]"),
            (0, "send", "[[:send 5 [0 141]]]"),
            (1, "poll", "[[:poll {5 [[0 141] [1 140]]}]]"),
        ),
    ),
    "int-nonmonotonic-send": (
        {"reordered"},
        ((0, "txn", "[[:send 5 [1 140]] [:send 5 [0 141]]]"), (1, "poll", "[[:poll {5 [[0 141] [1 140]]}]]")),
    ),
    "poll-skip": (
        {"skipped"},
        (
            SEND_0,
            SEND_1,
            SEND_2,
            (1, "poll", "[[:poll {5 [[0 140]]}]]"),
            (1, "poll", "[[:poll {5 [[2 142]]}]]"),
            (2, "poll", "[[:poll {5 [[0 140] [1 141] [2 142]]}]]"),
        ),
    ),
    "int-poll-skip": (
        {"skipped"},
        (SEND_0, SEND_1, SEND_2, (1, "poll", "[[:poll {5 [[0 140] [2 142]]}]]"), (2, *READ_ALL[1:])),
    ),
    "nonmonotonic-poll": (
        {"rewound"},
        (SEND_0, SEND_1, SEND_2, READ_ALL, (1, "poll", "[[:poll {5 [[0 140]]}]]")),
    ),
    "int-nonmonotonic-poll": (
        {"rewound"},
        (SEND_0, SEND_1, SEND_2, (1, "poll", "[[:poll {5 [[1 141] [0 140] [2 142]]}]]")),
    ),
    "G1a": (
        {"failed-visible", "aborted-read"},
        ((0, "send", "[[:send 5 140]]", "fail"), (1, "poll", "[[:poll {5 [[0 140]]}]]")),
    ),
    "precommitted-read": (
        {"precommitted-read"},
        ((0, "txn", "[[:send 5 [0 140]] [:poll {5 [[0 140]]}]]"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXTURES)
def test_jepsens_anomalies_are_found(tmp_path: Path, name: str) -> None:
    wanted, calls = FIXTURES[name]

    names = anomalies(imported(tmp_path, edn(*calls)))

    assert bool(wanted & names) == bool(wanted), names
    assert wanted or not names


def test_sends_that_others_interrupt_keep_their_positions(tmp_path: Path) -> None:
    """int-send-skip."""
    calls = [(0, "txn", "[[:send 5 [0 1]] [:send 5 [2 2]]]"), (1, "send", "[[:send 5 [1 3]]]")]

    folder = imported(tmp_path, edn(*calls))

    one = 1 << PRODUCER_SHIFT
    assert rows(folder) == [(0, "sent", 0, 0), (0, "sent", 1, 2), (1, "sent", one, 1)]


def test_an_operation_takes_its_times_and_outcome_from_both_lines(tmp_path: Path) -> None:
    text = edn(SEND_0, (1, "poll", "nil", "info")) + (
        "{:type :invoke, :f :txn, :value [[:send 5 9]], :time 99, :process 7, :index 4}\n"
    )

    operations = History.open(imported(tmp_path, text)).operations.to_pylist()

    kept = ["op", "process", "client", "f", "start_ns", "end_ns", "outcome", "txn"]
    assert [[row[name] for name in kept] for row in operations] == [
        [0, 0, "process-0", "send", 0, 9, "ok", None],
        [1, 1, "process-1", "poll", 20, 29, "info", None],
        [2, 7, "process-7", "txn", 99, None, "info", 2],
    ]


def test_a_value_that_nobody_sent_is_a_phantom(tmp_path: Path) -> None:
    folder = imported(tmp_path, edn(SEND_0, (1, "poll", "[[:poll {5 [[0 140] [1 999]]}]]")))

    assert anomalies(folder) == {"phantom"}


def test_a_rebalance_during_a_poll_counts_as_an_assignment(tmp_path: Path) -> None:
    back = edn(SEND_0, SEND_1, READ_ALL, (1, "poll", "[[:poll {5 [[0 140]]}]]"))
    moved = back.rstrip()[:-1] + ", :rebalance-log [{:keys [5]}]}\n"

    assert "rewound" in anomalies(imported(tmp_path, back))
    assert "rewound" not in anomalies(imported(tmp_path, moved))


def test_faults_come_from_the_nemesis(tmp_path: Path) -> None:
    kill = "{{:time {}, :type :info, :process :nemesis, :f :{}, :value nil}}\n"
    events = [(30, "kill"), (31, "kill"), (32, "check"), (40, "start"), (41, "start")]

    folder = imported(tmp_path, edn(SEND_0) + "".join(kill.format(*event) for event in events))

    (fault,) = History.open(folder).faults.to_pylist()
    assert (fault["kind"], fault["start_ns"], fault["effective_ns"]) == ("kill", 30, 31)
    assert (fault["heal_ns"], fault["healed_ns"]) == (40, 41)
    assert read_subject(folder).imported


@pytest.mark.parametrize("form", ["lines", "vector", "tagged", "spread", "one line"])
def test_all_ways_of_writing_a_history_are_read(tmp_path: Path, form: str) -> None:
    plain = list(entries(SEND_0, SEND_1, SEND_2, READ_ALL))
    text = {
        "lines": "".join(f"{{{entry}}}\n" for entry in plain),
        "vector": "[" + "\n ".join(f"{{{entry}}}" for entry in plain) + "]\n",
        "tagged": "\n".join(f"#jepsen.history.Op{{{entry}}}" for entry in plain),
        "spread": "\n".join("{" + entry.replace(", ", ",\n  ") + "}" for entry in plain),
        "one line": "[" + ", ".join(f"{{{entry}}}" for entry in plain) + "]",
    }[form]

    folder = imported(tmp_path, text)

    assert [row[1:] for row in rows(folder)] == [
        *(("sent", at, at) for at in range(3)),
        *(("received", at, at) for at in range(3)),
    ]


def test_blocks_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        edn(SEND_0, SEND_1, SEND_2, READ_ALL)
        + "#jepsen.history.Op\n{:time 90, :type :invoke,\n :process 0,\n"
        + (" :f :poll, :value nil}\n{:time 95, :type :ok, :process 0, :f :poll, :value [[:poll {5 [[0 140]]}]]}\n")
    )
    whole = imported(tmp_path, text)

    for size in (7, 64, 200):
        monkeypatch.setattr(lines, "_BLOCK_BYTES", size)
        folder = imported(tmp_path, text)
        assert rows(folder) == rows(whole)
        assert History.open(folder).operations.to_pylist() == History.open(whole).operations.to_pylist()


ROUND_TRIP = """\
{:index 0, :time 0, :type :invoke, :process 0, :f :assign, :value [5 :x "orders/3"]}
{:index 1, :time 1, :type :ok, :process 0, :f :assign, :value [5 :x "orders/3"]}
{:index 2, :time 2, :type :invoke, :process 0, :f :send, :value [[:send 5 140] [:send :x "v"]]}
{:index 3, :time 3, :type :invoke, :process 1, :f :txn, :value [[:send 5 141] [:poll]]}
{:index 4, :time 4, :type :ok, :process 0, :f :send, :value [[:send 5 [0 140]] [:send :x [7 "v"]]]}
{:index 5, :time 5, :type :info, :process 1, :f :txn, :value [[:send 5 141] [:poll {5 [[0 140]]}]]}
{:index 6, :time 6, :type :invoke, :process 3, :f :poll, :value [[:poll]]}
{:index 7, :time 7, :type :ok, :process 3, :f :poll, :value [[:poll {5 [[0 140]], :x [[7 "v"]]}]]}
{:index 8, :time 8, :type :invoke, :process 0, :f :poll, :value [[:poll]]}
{:index 9, :time 9, :type :ok, :process 0, :f :poll, :value [[:poll {}]]}
{:index 10, :time 10, :type :invoke, :process 0, :f :poll, :value [[:poll]]}
{:index 11, :time 11, :type :fail, :process 0, :f :poll, :value nil}
{:index 12, :time 12, :type :invoke, :process 9, :f :crash, :value nil}
{:index 13, :time 13, :type :info, :process 9, :f :crash, :value nil}
{:index 14, :time 14, :type :invoke, :process 8, :f :poll, :value [[:poll]]}
{:index 15, :time 15, :type :ok, :process 8, :f :poll, :value [[:poll {5 [[0 140]]}]], :rebalance-log [{:keys [5]}]}
{:index 16, :time 16, :type :invoke, :process 0, :f :send, :value [[:send 5 142]]}
"""


def exported(folder: Path) -> str:
    file = io.StringIO()
    export_edn(folder, file)
    return file.getvalue()


def test_an_export_of_an_import_is_the_same(tmp_path: Path) -> None:
    assert exported(imported(tmp_path, ROUND_TRIP)) == ROUND_TRIP


@pytest.mark.parametrize("name", FIXTURES)
def test_an_import_of_an_export_has_the_same_findings(tmp_path: Path, name: str) -> None:
    folder = imported(tmp_path, edn(*FIXTURES[name][1]))

    again = imported(tmp_path, exported(folder))

    assert find(History.open(again), 0).to_pylist() == find(History.open(folder), 0).to_pylist()


def test_pipelined_operations_are_exported_as_processes_of_their_own() -> None:
    process = np.array([0, 0, 1, 0, 0, 0])
    start_ns, end_ns = np.array([0, 1, 2, 5, 8, 9]), np.array([4, 9, 3, -1, 10, 11])

    assert lanes(process, start_ns, end_ns).tolist() == [0, 2, 1, 0, 3, 2]
