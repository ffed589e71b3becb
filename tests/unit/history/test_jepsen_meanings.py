"""What Jepsen's checker of Kafka histories finds, ours finds: little histories, each with one beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_jepsen import anomalies, edn
from test_jepsen import imported as imported_into

from chaoskit.judge.verdict.check import check_run

FOUR = (0, "send", "[[:send 5 [0 1]] [:send 5 [1 2]] [:send 5 [2 3]] [:send 5 [3 4]]]")


def imported(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    return imported_into(folder, text)


def polled(process: int, *pairs: tuple[int, int], key: int = 5) -> tuple[int, str, str]:
    return process, "poll", f"[[:poll {{{key} [{' '.join(f'[{position} {value}]' for position, value in pairs)}]}}]]"


@pytest.mark.parametrize("position", [10, 12])
def test_a_value_acknowledged_at_one_position_and_read_at_another_is_there_twice(tmp_path: Path, position: int) -> None:
    folder = imported(
        tmp_path,
        edn((4, "send", f"[[:send 7 [{position} 31]]]"), (6, "assign", "[7]"), polled(6, (12, 31), key=7)),
    )

    assert ("duplicate" in anomalies(folder)) == (position == 10)


@pytest.mark.parametrize("read", [True, False])
def test_a_transaction_of_which_a_value_was_read_has_committed(tmp_path: Path, read: bool) -> None:
    conflict = [
        (1, "txn", "[[:send 3 [20 50]] [:send 9 51]]", "info"),
        (2, "send", "[[:send 3 [20 60]]]"),
        (8, "assign", "[9]"),
        polled(8, *([(4, 51)] if read else []), key=9),
    ]
    lost = [
        (1, "txn", "[[:send 3 70] [:send 9 [5 71]]]", "info"),
        (2, "send", "[[:send 9 [6 72]]]"),
        (8, "assign", "[3]"),
        polled(8, *([(0, 70)] if read else []), key=3),
        (7, "assign", "[9]"),
        polled(7, (6, 72), key=9),
    ]

    assert ("offset-conflict" in anomalies(imported(tmp_path / "a", edn(*conflict)))) == read
    assert ("lost" in anomalies(imported(tmp_path / "b", edn(*lost)))) == read


@pytest.mark.parametrize("f", ["assign", "subscribe"])
@pytest.mark.parametrize(("then", "keeps"), [(["[5 6]"], True), (["[6]", "[5]"], False), (["[6]", "[5 6]"], False)])
def test_a_key_that_stays_assigned_keeps_its_position(tmp_path: Path, f: str, then: list[str], keeps: bool) -> None:
    begin = [FOUR, (3, f, "[5]"), polled(3, (0, 1), (1, 2), (2, 3)), *((3, f, keys) for keys in then)]
    passing = [FOUR, (3, f, "[5]"), polled(3, (0, 1), (1, 2)), *((3, f, keys) for keys in then)]
    rest = [(9, "assign", "[5]"), polled(9, (0, 1), (1, 2), (2, 3), (3, 4))]

    back = anomalies(imported(tmp_path / "a", edn(*begin, polled(3, (1, 2), (2, 3), (3, 4)))))
    over = anomalies(imported(tmp_path / "b", edn(*passing, polled(3, (3, 4)), *rest)))

    assert ("rewound" in back) == keeps
    assert ("skipped" in over) == keeps


def test_what_transactions_sent_is_counted(tmp_path: Path) -> None:
    folder = imported(
        tmp_path, edn((1, "txn", "[[:send 3 [0 70]] [:send 9 [5 71]]]"), (2, "send", "[[:send 9 [6 72]]]"))
    )

    assert check_run(folder).counts["acked"] == 3


def transaction(kind: str, *pairs: tuple[int, int]) -> tuple[Any, ...]:
    """Return a transaction of process 3 that polls key 5, and commits, aborts (fail), or may have committed (info)."""
    return (3, "txn", polled(3, *pairs)[2], *([] if kind == "ok" else [kind]))


SIX = (0, "send", "[[:send 5 [0 1]] [:send 5 [1 2]] [:send 5 [2 3]] [:send 5 [3 4]] [:send 5 [4 5]] [:send 5 [5 6]]]")
ASSIGNED = [SIX, (3, "assign", "[5]"), transaction("ok", (0, 1))]
READ = [(9, "assign", "[5]"), polled(9, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))]


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (  # nothing was committed in between: it goes on where it was
            [
                transaction("fail", (1, 2), (2, 3)),
                transaction("info", (1, 2), (2, 3)),
                transaction("ok", (1, 2), (2, 3)),
            ],
            set(),
        ),
        ([transaction("ok", (1, 2), (2, 3)), transaction("ok", (1, 2), (2, 3))], {"rewound", "redelivered"}),
        (  # the aborted ones moved nothing, so that 1 to 4 are skipped
            [transaction("fail", (1, 2), (2, 3)), transaction("fail", (3, 4), (4, 5)), transaction("ok", (5, 6))],
            {"skipped"},
        ),
        ([transaction("fail", (1, 2), (2, 3)), transaction("info", (3, 4), (4, 5))], {"skipped"}),
        ([transaction("fail", (1, 2)), transaction("ok", (1, 2), (2, 3)), transaction("ok", (3, 4))], set()),
        ([transaction("fail", (2, 3), (1, 2)), transaction("ok", (1, 2))], {"rewound", "skipped"}),  # internal
    ],
)
def test_a_transaction_that_did_not_commit_moves_no_consumer(
    then: list[tuple[Any, ...]], expected: set[str], tmp_path: Path
) -> None:
    names = anomalies(imported(tmp_path, edn(*ASSIGNED, *then, *READ)))

    assert names & {"rewound", "redelivered", "skipped"} == expected
    assert expected or "sequence-jump" not in names


def test_what_jepsen_always_allows_of_writes_is_allowed_with_its_reason(tmp_path: Path) -> None:
    cycle = [
        (1, "txn", "[[:send 5 [0 10]] [:send 6 [1 11]]]"),
        (2, "txn", "[[:send 5 [1 20]] [:send 6 [0 21]]]"),
        (8, "assign", "[5 6]"),
        (8, "poll", "[[:poll {5 [[0 10] [1 20]], 6 [[0 21] [1 11]]}]]"),
    ]
    between = [
        (1, "txn", "[[:send 5 [0 10]] [:send 5 [2 11]]]"),
        (2, "txn", "[[:send 5 [1 20]]]"),
        (8, "assign", "[5]"),
        polled(8, (0, 10), (1, 20), (2, 11)),
    ]

    for number, (calls, name) in enumerate(((cycle, "G0"), (between, "order-violation"))):
        folder = imported(tmp_path / str(number), together(edn(*calls)))
        judged = check_run(folder).anomalies

        assert judged[name].allowed, judged
        assert judged[name].why.startswith("Jepsen always allows it: writes of transactions are not isolated")


def together(text: str) -> str:
    """Let the first two operations overlap."""
    first, done, second, *rest = text.splitlines(keepends=True)
    at = {":time 0": first, ":time 9": done, ":time 20": second}
    assert all(time in line for time, line in at.items())
    return "".join([first, second.replace(":time 20", ":time 5"), done, *rest])


@pytest.mark.parametrize(("f", "outcome"), [("subscribe", "valid"), ("assign", "invalid")])
@pytest.mark.parametrize("then", [((3, 4), (4, 5), (5, 6)), ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))])
def test_with_subscribe_a_consumer_may_be_rebalanced_between_transactions(
    f: str, outcome: str, then: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    sends = [(0, "send", f"[[:send 5 [{position} {position + 1}]]]") for position in range(6)]
    begin = [*sends, (3, f, "[5]"), transaction("ok", (0, 1))]

    verdict = check_run(imported(tmp_path, edn(*begin, transaction("ok", *then), *READ)))

    assert verdict.verdict == outcome, verdict.reasons
    if outcome == "valid":
        assert {anomaly.why.partition(":")[0] for anomaly in verdict.anomalies.values() if anomaly.count} == {
            "Jepsen always allows it with subscribe"
        }


def test_within_a_transaction_a_consumer_reads_in_order_with_subscribe_too(tmp_path: Path) -> None:
    begin = [SIX, (3, "subscribe", "[5]"), transaction("ok", (0, 1), (3, 4))]

    verdict = check_run(imported(tmp_path, edn(*begin, *READ)))

    assert verdict.verdict == "invalid"
    assert not verdict.anomalies["skipped"].allowed
