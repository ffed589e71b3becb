"""A standstill is excused by faults that can have caused it, and by no other one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, counts_of, needed

LOAD = {"kind": "log", "producers": 1, "consumers": 2, "rate": 1, "duration": "700s"}
SILENT = range(20, 560)
HEALED = 600

Fault = tuple[str, str, float, float]


def stood(folder: Path, fault: Fault | None, *, grouped: bool) -> dict[str, Any]:
    """A consumer of one partition, which n1 led and n2 stored, is given nothing from 20 s to 560 s; n3 and two more
    hosts stored the other partition."""
    load = {**LOAD, "partitions": 2, **({"consumption": "group", "groups": 2} if grouped else {})}
    run = StoryRun(folder, load, cluster={"system": "kafka", "hosts": 5})
    run.led("n1", holders=("n1", "n2"), partitions=(0,))
    run.led("n3", holders=("n3", "n4", "n5"), partitions=(1,))
    if fault is not None:
        kind, target, start, healed = fault
        run.fault(kind, (target,), start, healed, **needed(kind))
    for at in range(700):
        run.send("producer-0", 2 * at, at, at)
    for client, group in (("consumer-0", "g-0"), ("consumer-1", "g-1")):
        observation = ("assigned", "log-0", 0, group, 1, None) if grouped else ("reading", "log-0", 0, None, None, None)
        if grouped:
            run.op(client, "subscribe", 0)
        run.op(client, "assign", 0.01, observed=[observation])
    held = []
    for at in range(700):
        run.poll("consumer-1", at + 0.1, [(2 * at, at)])
        held.append((2 * at, at))
        run.poll("consumer-0", at + 0.1, [] if at in SILENT else held)
        held = held if at in SILENT else []
    for client in ("consumer-0", "consumer-1"):
        run.op(client, "close", 710)
    run.read_back(720, {2 * at: at for at in range(700)})
    return counts_of(run.judged(700, 1))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(None, True, id="none"),
        pytest.param(("clock-jump", "n2", 10, HEALED), True, id="a wrong clock delays nobody"),
        pytest.param(("client-pause", "consumer-1", 10, HEALED), True, id="a consumer of another group"),
        pytest.param(("client-pause", "producer-0", 10, HEALED), True, id="the producer"),
        pytest.param(("pause", "n1", 300, 310), True, id="it had stood before"),
        pytest.param(("pause", "n1", 5, 30), True, id="it went on standing"),
        pytest.param(("pause", "n1", 650, 660), True, id="it was over"),
        pytest.param(("client-pause", "consumer-0", 10, HEALED), False, id="the consumer itself"),
        pytest.param(("pause", "n1", 10, HEALED), False, id="the leader"),
        pytest.param(("pause", "n4", 10, HEALED), False, id="who keeps the group is not known"),
        pytest.param(("partition", "n4", 10, HEALED), False, id="links"),
    ],
)
def test_a_group_that_stands(tmp_path: Path, fault: Fault | None, expected: bool) -> None:
    assert ("stuck-partition" in stood(tmp_path, fault, grouped=True)) == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(None, True, id="none"),
        pytest.param(("clock-jump", "n1", 10, HEALED), True, id="a wrong clock delays nobody"),
        pytest.param(("client-pause", "consumer-1", 10, HEALED), True, id="another reader"),
        pytest.param(("pause", "n4", 10, HEALED), True, id="a host that stores other partitions"),
        pytest.param(("pause", "n2", 10, HEALED), False, id="a replica"),
        pytest.param(("client-pause", "consumer-0", 10, HEALED), False, id="the reader itself"),
        pytest.param(("partition", "n4", 10, HEALED), False, id="links"),
    ],
)
def test_a_reader_that_stands(tmp_path: Path, fault: Fault | None, expected: bool) -> None:
    assert ("stuck" in stood(tmp_path, fault, grouped=False)) == expected
