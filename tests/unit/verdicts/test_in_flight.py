"""What was open when a fault held: a run whose faults found nothing open proves nothing about that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun

WORKLOAD = {"kind": "log", "producers": 2, "consumers": 2, "partitions": 2}
GROUP = {**WORKLOAD, "consumption": "group"}
TRANSACTIONS = {"kind": "transactions", "partitions": 2, "producers": 2, "consumers": 0}


def _run(folder: Path, workload: dict[str, Any], fault: tuple[str, str, float, float], **scenario: Any) -> Any:
    """A run with sends at 1 to 30 s by producer-0, of which none is made from 10 to 20 s."""
    run = StoryRun(folder, workload, **scenario)
    kept = {}
    for number, at in enumerate(at for at in range(1, 30) if not 10 <= at < 20):
        run.send("producer-0", number, at, number // 2)
        kept[number] = number // 2
    if workload is GROUP:
        for partition in range(2):
            run.op("consumer-0", "assign", 0.5, observed=[("assigned", "log-0", partition, "g", 1, None)])
    kind, target, start, healed = fault
    run.fault(kind, [target], start, healed)
    run.read_back(40, kept)
    return run.judged(load_end=30)


@pytest.mark.parametrize(
    ("fault", "sends"),
    [
        (("kill", "n1", 5, 8), 4),
        (("kill", "n1", 11, 19), 0),
        (("client-pause", "producer-0", 5, 8), 4),
        (("client-pause", "producer-1", 5, 8), 0),  # another one
    ],
)
def test_sends_are_in_flight_while_a_fault_of_their_client_holds(
    fault: tuple[str, str, float, float], sends: int, tmp_path: Path
) -> None:
    assert _run(tmp_path, WORKLOAD, fault).faults[0]["sends_in_flight"] == sends


@pytest.mark.parametrize(
    ("expect", "between", "doubted"),
    [({"duplicate": "none"}, (11, 19), True), ({"duplicate": "none"}, (5, 19), False), ({}, (11, 19), False)],
)
def test_nothing_is_proved_of_duplicates_where_nothing_was_in_flight(
    expect: dict[str, Any], between: tuple[float, float], doubted: bool, tmp_path: Path
) -> None:
    verdict = _run(tmp_path, WORKLOAD, ("reset-connections", "n1", *between), expect=expect)

    assert any("no send was in flight while a fault held" in text for text in verdict.problems) is doubted


@pytest.mark.parametrize(("member", "owned"), [("consumer-0", 2), ("consumer-1", 0)])
def test_nothing_is_proved_of_a_group_whose_member_had_no_partition(member: str, owned: int, tmp_path: Path) -> None:
    verdict = _run(tmp_path, GROUP, ("client-crash", member, 5, 8))

    assert verdict.faults[0]["partitions_owned"] == owned
    assert any("the members of the group that were hit had no partition" in text for text in verdict.problems) is (
        not owned
    )


def test_a_fault_of_a_producer_says_nothing_of_the_group(tmp_path: Path) -> None:
    verdict = _run(tmp_path, GROUP, ("client-crash", "producer-0", 5, 8))

    assert "partitions_owned" not in verdict.faults[0]
    assert verdict.problems == ()


@pytest.mark.parametrize(
    ("fault", "opened"),
    [
        (("kill", "n1", 4.5, 6), 2),
        (("kill", "n1", 11, 12), 1),  # the one that a crash left open
        (("client-crash", "producer-0", 11, 12), 0),
        (("client-crash", "producer-1", 11, 12), 1),
    ],
)
def test_transactions_are_open_from_their_begin_to_their_end(
    fault: tuple[str, str, float, float], opened: int, tmp_path: Path
) -> None:
    run = StoryRun(tmp_path, TRANSACTIONS)
    run.op("producer-0", "begin", 4)
    run.op("producer-0", "end", 5)
    run.op("producer-0", "begin", 20)
    run.op("producer-0", "end", 21)
    run.op("producer-1", "begin", 5)
    kind, target, start, healed = fault
    run.fault(kind, [target], start, healed)
    run.read_back(40, {})
    verdict = run.judged(load_end=30)

    assert verdict.faults[0]["transactions_open"] == opened
    assert any("no transaction was open while a fault held" in text for text in verdict.problems) is (not opened)
