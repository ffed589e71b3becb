"""Phantom, corrupt and misrouted: each fires, and does not fire when nearly so."""

from __future__ import annotations

import pyarrow as pa
import pytest
from notation import check, finding, history, poll, send

from checkers.log.logs import LogChecker


def test_phantom_that_nobody_sent() -> None:
    run = history(send(1, at=0), poll("c", (0, 1), (1, 8)), poll("d", (0, 1), (1, 8)))

    assert run.only("phantom") == [finding(value=8, position=1, op=1, at_ns=15, detail="not sent to this partition")]
    assert run.anomalies() == {"phantom": [8]}


def test_phantom_from_another_run() -> None:
    """Though this run sent the same value."""
    run = history(send(1, at=0), poll("c", (0, 1), (1, 1, "foreign")))

    assert run.only("phantom") == [finding(value=1, position=1, op=1, at_ns=15, detail="from another run")]
    assert run.anomalies() == {"phantom": [1]}


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_message_that_somebody_tried_to_send_is_no_phantom(outcome: str) -> None:
    assert history(send(1, outcome), poll("c", (0, 1))).check() == []


def test_corrupt() -> None:
    run = history(send(1, at=1), poll("c", (0, -7, "corrupt")), poll("d", (0, -7, "corrupt"), (1, 1)))

    assert run.only("corrupt") == [finding(value=-7, position=0, op=1, at_ns=15)]
    assert run.anomalies() == {"corrupt": [-7]}


def test_settling_tells_misrouted_messages_from_phantoms() -> None:
    checker = LogChecker()
    here = history(poll("c", (0, 1, "foreign"), (1, 8), (2, 9), (3, 9)))
    other_topic = history(send(7), send(8), send(10), poll("c", (0, 9)))
    findings = check(*here.tables(), here.setting)

    values = checker.open_values(findings)
    sent = checker.sent_here(other_topic.tables()[0], values)
    settled = checker.settle(findings, sent)

    assert values.to_pylist() == [8, 9]
    assert sent.to_pylist() == [{"value": 8, "topic": "t", "partition": 0, "op": 1}]
    assert settled.schema == findings.schema
    columns = ("anomaly", "value", "position", "other_op", "detail")
    settled_phantoms = settled.filter(pa.compute.is_in(settled["anomaly"], pa.array(["phantom", "misrouted"])))
    assert [tuple(row[name] for name in columns) for row in settled_phantoms.to_pylist()] == [
        ("phantom", 1, 0, None, "from another run"),
        ("misrouted", 8, 1, 1, "sent to t/0"),
        ("phantom", 9, 2, None, "never sent"),
        ("phantom", 9, 3, None, "never sent"),
    ]


def test_settling_names_the_first_of_several_sends() -> None:
    checker = LogChecker()
    here = history(poll("c", (1, 8)))
    findings = check(*here.tables(), here.setting)
    rows = pa.table({"value": [8, 8, 8], "topic": ["u", "t", "t"], "partition": [0, 3, 2], "op": [1, 2, 3]})

    (row,) = checker.settle(findings, rows).to_pylist()

    assert (row["detail"], row["other_op"]) == ("sent to t/2", 3)


def test_settling_leaves_other_findings_alone() -> None:
    checker = LogChecker()
    run = history(send(1, at=0), send(2, at=0), poll("c", (0, 1), (0, 1)))
    findings = check(*run.tables(), run.setting)
    nothing_found = checker.sent_here(run.tables()[0], checker.open_values(findings))

    assert nothing_found.num_rows == 0
    assert findings.num_rows > 0
    assert checker.settle(findings, nothing_found).to_pylist() == findings.to_pylist()
