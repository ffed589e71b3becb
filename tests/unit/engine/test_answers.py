"""A message whose answer took longer than its client waits is sent again, with or without a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explaining import SECOND, Row, declared, rules

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Resends
from clusters.rocketmq.settings import RocketOptions


def _twice(waited_s: float | None) -> Row:
    written_ns = 10 * SECOND
    acked_ns = None if waited_s is None else written_ns + int(waited_s * SECOND)
    here = {"anomaly": "duplicate", "topic": "log-0", "partition": 0, "at_ns": 30 * SECOND, "value": 7}
    return {**here, "written_ns": written_ns, "acked_ns": acked_ns}


def _sent(**settings: object) -> Declared:
    return Declared(RocketOptions(mode="single"), 1, 1, (Topic("log-0"),), {"send": "async", **settings}, {})


@pytest.mark.parametrize(("waited_s", "rule"), [(10, "rocketmq.retries"), (9.999, None), (None, None)])
def test_only_one_that_waited_for_too_long_may_be_there_twice(waited_s: float | None, rule: str | None) -> None:
    assert rules([_twice(waited_s)], [], _sent(), kind="rocketmq") == [rule]


def test_how_long_a_client_waits_is_its_own_setting() -> None:
    assert rules([_twice(10)], [], _sent(sendMsgTimeout=15_000), kind="rocketmq") == [None]
    assert rules([_twice(30)], [], _sent(retryTimesWhenSendAsyncFailed=0), kind="rocketmq") == [None]


def test_of_several_sends_of_a_message_none_need_have_waited() -> None:
    resends = replace(_sent(), traits=(Resends("unconfirmed", restarts=True),))

    assert rules([_twice(30)], [], resends, kind="rocketmq") == [None]
    assert rules([_twice(30)], [], declared({"enable.idempotence": False})) == [None], "Kafka's rule needs a fault"
