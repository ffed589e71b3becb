"""What Jepsen's checker of Kafka histories finds, ours finds: little histories, each with one beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_jepsen import anomalies, edn
from test_jepsen import imported as imported_into

from chaoskit.judge.judging import check_run

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
