"""A message whose answer took longer than its client waits is sent again, with or without a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explaining import SECOND, Row, declared, explained, rules

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


@pytest.mark.parametrize(("waited_s", "rule"), [(10, "rocketmq.retries"), (9.999, None)])
def test_only_one_that_waited_for_too_long_may_be_there_twice(waited_s: float, rule: str | None) -> None:
    assert rules([_twice(waited_s)], [], _sent(), kind="rocketmq") == [rule]


def test_when_a_send_ended_that_was_not_answered_is_open_where_sends_were_not_recorded() -> None:
    explanation = explained([_twice(None)], [], _sent(), kind="rocketmq")

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["duplicate"] == (1, "when its send ended was not recorded")


@pytest.mark.parametrize("given", [{"send": "sync"}, {"send": "oneway"}])
def test_who_waits_for_the_answer_has_made_all_its_attempts_by_then(given: dict[str, object]) -> None:
    assert rules([_twice(30)], [], _sent(**given), kind="rocketmq") == [None]


def test_how_long_a_client_waits_is_its_own_setting() -> None:
    assert rules([_twice(10)], [], _sent(sendMsgTimeout=15_000), kind="rocketmq") == [None]
    assert rules([_twice(30)], [], _sent(retryTimesWhenSendAsyncFailed=0), kind="rocketmq") == [None]


def test_of_several_sends_of_a_message_none_need_have_waited() -> None:
    resends = replace(_sent(), traits=(Resends("unconfirmed", restarts=True),))

    assert rules([_twice(30)], [], resends, kind="rocketmq") == [None]
    assert rules([_twice(30)], [], declared({"enable.idempotence": False})) == [None], "Kafka's rule needs a fault"
