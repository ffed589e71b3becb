"""A queue must have a message until a consumer has begun to settle it."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import SECOND, TASKS, QueueRun

from chaoskit.contract.hosts.recorded_disk import NEVER
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.reading.reader import History
from chaoskit.judge.exposure.copies import acknowledged


@pytest.mark.parametrize(
    ("how", "outcome", "gone_s"),
    [("ack", "ok", 5), ("ack", "info", 5), ("reject", "ok", 5), ("ack", "fail", None), ("nack", "ok", None)],
)
def test_it_need_not_have_what_was_settled(tmp_path: Path, how: str, outcome: str, gone_s: int | None) -> None:
    run = QueueRun(tmp_path, {"consumers": 1, "rate": 100}, {"prefetch": 10})
    run.publish(range(2), 0.01)
    run.op("consumer-0", "subscribe", 0.01)
    run.take("consumer-0", range(2), 1, settle="")
    kind = {"ack": "acked", "nack": "nacked", "reject": "rejected"}[how]
    run.op("consumer-0", how, 5, outcome=outcome, observed=[(kind, TASKS, 0, None, 0, None)])
    run.drained(10, [1], ["consumer-0"])
    run.judged(9, 100)

    settled = acknowledged(History.open(run.folder), [Topic(TASKS, QUEUE, 1, 1)])[TASKS, 0]

    assert settled.values.tolist() == [0, 1]
    assert settled.gone_ns[0] == (NEVER if gone_s is None else gone_s * SECOND)
    assert 11 * SECOND < settled.gone_ns[1] < NEVER, "the final read acknowledged it"
