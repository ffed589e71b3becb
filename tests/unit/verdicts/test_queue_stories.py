"""What a queue was declared with excuses what it can have caused, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from runs import TASKS, QueueRun, counts_of

LIMITS: list[tuple[dict[str, Any], dict[str, int], int]] = [
    ({}, {}, 2),
    ({"delivery_limit": 3}, {"delivery-limit": 3}, 3),
    ({"max_length": 1000}, {"max-length": 1000}, 2),
    ({"ttl": "20s"}, {"message-ttl": 20_000}, 2),
]


@pytest.mark.parametrize(("workload", "declared", "consumers"), LIMITS)
def test_a_limit_that_was_not_met_excuses_no_loss(
    tmp_path: Path, workload: dict[str, Any], declared: dict[str, int], consumers: int
) -> None:
    """All others were received 5 ms after they were sent."""
    load = {"consumers": consumers, "rate": 100, "prefetch": 10}
    run = QueueRun(tmp_path, {**load, **workload}, {"prefetch": 10, **declared})
    names = [f"consumer-{number}" for number in range(consumers)]
    for name in names:
        run.op(name, "subscribe", 0.01)
    run.publish(range(3000), 0.01)
    for value in range(3000):
        if not 1000 <= value < 1100:
            run.take(names[value % consumers], [value], 0.055 + value * 0.01)
    run.drained(62, consumers=names)

    verdict = run.judged(60, 100)

    assert (verdict.verdict, counts_of(verdict)) == ("invalid", {"lost": (100, False)})


def test_what_did_not_fit_was_dropped(tmp_path: Path) -> None:
    for number, (kept, expected) in enumerate(
        [
            (range(500, 600), {"dropped": (500, True)}),
            (range(501, 600), {"dropped": (500, True), "unseen": (1, True)}),
        ]
    ):
        run = QueueRun(tmp_path / str(number), {"consumers": 0, "max_length": 100}, {"max-length": 100})
        run.publish(range(600), 0.01)
        run.drained(62, left=kept)

        verdict = run.judged(6, 100)

        assert (counts_of(verdict), verdict.verdict) == (expected, "unknown" if number else "valid")


def test_what_a_queue_had_to_drop_is_a_number_of_all_that_are_gone(tmp_path: Path) -> None:
    run = QueueRun(tmp_path, {"consumers": 1, "max_length": 100}, {"max-length": 100, "prefetch": 10})
    run.publish(range(600), 0.01)
    run.op("consumer-0", "subscribe", 0.001)
    run.take("consumer-0", range(10), 6.5, settle="")
    run.take("consumer-0", [10], 6.6)
    run.drained(62, left=range(500, 600), consumers=["consumer-0"])

    verdict = run.judged(60, 100)

    assert counts_of(verdict) == {"dropped": (489, True), "unseen": (10, True)}
    assert verdict.verdict == "unknown"


def test_what_expired_before_its_turn_was_dropped(tmp_path: Path) -> None:
    for number, (taken_s, expected) in enumerate([(22.3, {"dropped": (5, True)}), (15.0, {"lost": (5, False)})]):
        run = QueueRun(tmp_path / str(number), {"consumers": 1, "ttl": "20s"}, {"message-ttl": 20_000, "prefetch": 10})
        run.publish(range(10), 0.5)
        run.op("consumer-0", "subscribe", taken_s - 1)
        run.take("consumer-0", range(5, 10), taken_s)
        run.drained(62, consumers=["consumer-0"])

        assert counts_of(run.judged(60, 2)) == expected


@pytest.mark.parametrize(
    ("version", "kind", "returns", "expected"),
    [
        ("4.0.5", "quorum", 21, {"dropped": (1, True)}),
        ("4.0.5", "quorum", 20, {"unseen": (1, True)}),
        ("4.0.5", "quorum", 15, {"unacked-vanished": (1, False)}),
        ("3.10.8", "quorum", 21, {"unacked-vanished": (1, False)}),
        ("4.0.5", "classic", 21, {"unacked-vanished": (1, False)}),
    ],
)
def test_the_default_delivery_limit_of_the_release_counts(
    tmp_path: Path, version: str, kind: str, returns: int, expected: dict[str, tuple[int, bool]]
) -> None:
    """A message is left by one crashing consumer after the other, and gone then."""
    cluster = {"system": "rabbitmq", "version": version, "hosts": 3}
    run = QueueRun(tmp_path, {"consumers": 1, "type": kind}, {"prefetch": 10}, cluster=cluster)
    run.publish(range(2), 0.1)
    for number in range(returns):
        run.op("consumer-0", "subscribe", number + 1)
        run.take("consumer-0", [0] if number else [0, 1], number + 1.1, delivery=number, settle="")
        if not number:
            run.op("consumer-0", "ack", 1.2, observed=[("acked", TASKS, 0, None, 1, None)])
        run.op("consumer-0", "crash", number + 1.5)
    run.drained(62)

    assert counts_of(run.judged(60, 2)) == expected


def test_policies_count(tmp_path: Path) -> None:
    cluster = {"system": "rabbitmq", "version": "4.0.5", "hosts": 3, "policy": {"max-length": 100}}
    run = QueueRun(tmp_path, {"consumers": 0}, {}, cluster=cluster)
    run.publish(range(600), 0.01)
    run.drained(62, left=range(500, 600))

    assert counts_of(run.judged(60, 100)) == {"dropped": (500, True)}


@pytest.mark.parametrize(("dead_s", "again"), [(50, True), (5.2, False)])
def test_what_was_acknowledged_must_not_be_dead_lettered(tmp_path: Path, dead_s: float, again: bool) -> None:
    load = {"consumers": 1, "dead_letters": True, "dead_consumers": 1, "ttl": "20s"}
    run = QueueRun(tmp_path, load, {"prefetch": 10, "dead-letters": 1, "message-ttl": 20_000})
    run.op("consumer-0", "subscribe", 0.01)
    run.publish(range(100), 0.05)
    run.take("consumer-0", range(100), 5.1)
    death = ("dead-lettered", TASKS, 0, "expired", 7, 1)
    run.op("dead-0", "receive", dead_s, observed=[death], received=[(f"{TASKS}.dead", 0, 7, None, 0.0, 0)])
    run.op("dead-0", "ack", dead_s + 0.1, observed=[("acked", f"{TASKS}.dead", 0, None, 7, None)])
    run.drained(61, consumers=("consumer-0", "dead-0"))

    assert ("duplicate" in counts_of(run.judged(60, 20))) == again


@pytest.mark.parametrize(("acked_s", "again_s", "allowed"), [(98, 101, True), (500, 600, False), (98, 190, True)])
def test_a_duplicate_is_dated_by_its_acknowledgement(
    tmp_path: Path, acked_s: float, again_s: float, allowed: bool
) -> None:
    run = QueueRun(tmp_path, {"consumers": 1}, {"prefetch": 100})
    run.fault("kill", ("n1",), 100, 104)
    run.op("consumer-0", "subscribe", 0)
    run.publish(range(50), 0.1, first=1)
    run.take("consumer-0", range(50), acked_s)
    run.take("consumer-0", range(5), again_s, delivery=1)
    run.drained(again_s + 60, consumers=("consumer-0",))

    assert counts_of(run.judged(again_s + 50, 10)) == {"duplicate": (5, allowed)}


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("until_s", "stuck"), [(590, True), (50, False)])
def test_a_queue_that_delivers_nothing_to_connected_consumers_is_stuck(
    tmp_path: Path, single: bool, until_s: int, stuck: bool
) -> None:
    declared = {"prefetch": 10} | ({"single-active": 1} if single else {})
    run = QueueRun(tmp_path, {"consumers": 2, "single_active": single}, declared)
    names = ("consumer-0", "consumer-1")
    for name in names:
        run.op(name, "subscribe", 0.01)
    run.publish(range(600), 0.1)
    for value in range(100):
        run.take("consumer-0", [value], 0.055 + value * 0.1)
    for second in range(11, until_s):
        for name in names:
            run.op(name, "receive", second, took=0.1)
    run.drained(602, left=range(100, 600), consumers=names)

    assert ("stuck" in counts_of(run.judged(600, 10))) == stuck


@pytest.mark.parametrize("outcome", [None, "fail"])
def test_an_acknowledgement_that_failed_settles_nothing(tmp_path: Path, outcome: str | None) -> None:
    run = QueueRun(tmp_path, {"consumers": 1}, {"prefetch": 100})
    run.op("consumer-0", "subscribe", 0.01)
    run.publish(range(60), 0.1)
    run.take("consumer-0", range(50), 7)
    run.take("consumer-0", range(50, 60), 8, settle="")
    if outcome:
        settlements = [("acked", TASKS, 0, None, value, None) for value in range(50, 60)]
        run.op("consumer-0", "ack", 8.1, outcome=outcome, observed=settlements)
    run.drained(62, consumers=("consumer-0",))

    assert counts_of(run.judged(60, 10)) == {"unacked-vanished": (10, False)}


@pytest.mark.parametrize("noticed", [True, False])
def test_a_standby_consumer_that_is_given_nothing_is_no_failover(tmp_path: Path, noticed: bool) -> None:
    run = QueueRun(tmp_path, {"consumers": 2, "single_active": True}, {"prefetch": 10, "single-active": 1})
    for name in ("consumer-0", "consumer-1"):
        run.op(name, "subscribe", 0.01, observed=[("subscribed", TASKS, 0, None, None, None)] if noticed else [])
    run.publish(range(300), 0.1)
    for value in range(100):
        run.take("consumer-0", [value], 0.055 + value * 0.1)
    run.op("consumer-0", "close", 10.1)
    for second in range(1, 300):
        run.op("consumer-1", "receive", second + 0.5, took=0.1)
    run.drained(302, left=range(100, 300), consumers=("consumer-1",))

    assert "no-failover" in counts_of(run.judged(300, 10))


@pytest.mark.parametrize(("declared", "noticed"), [({"delay": 3000}, True), ({}, False)])
def test_how_late_delayed_messages_are_counts_from_the_end_of_their_delay(
    tmp_path: Path, declared: dict[str, int], noticed: bool
) -> None:
    run = QueueRun(tmp_path, {"consumers": 1, "rate": 100}, {"prefetch": 10, **declared})
    run.op("consumer-0", "subscribe", 0.001)
    run.publish(range(100), 0.01)
    for value in range(100):
        sent = 0.05 + value * 0.01
        run.op("consumer-0", "receive", sent + 3.5 + 1.5 * (value == 7), received=[(TASKS, 0, value, None, sent, 0)])
    run.drained(10, consumers=["consumer-0"])

    latency = run.judged(8, 100).latency

    assert ("late" in latency) == noticed
    if noticed:
        assert latency["late"]["p50_ms"] == pytest.approx(500, rel=0.02)
        assert latency["late"]["max_ms"] == pytest.approx(2000, rel=0.02)


class DelayedRun(QueueRun):
    """A run of a queue of RocketMQ."""

    cluster: Mapping[str, Any] = {"system": "rocketmq", "hosts": 1, "mode": "single", "proxies": 1}


@pytest.mark.parametrize(("sent_s", "allowed"), [(28.0, True), (25.4, True), (10.0, False)])
def test_what_was_delayed_when_its_broker_ended_may_come_twice_once_it_is_back(
    tmp_path: Path, sent_s: float, allowed: bool
) -> None:
    """The second time after what came first was settled, when the broker had been back for long."""
    run = DelayedRun(tmp_path, {"consumers": 1, "rate": 100, "delay": "3s"}, {"delay": 3000})
    run.fault("kill", ("n1",), 30, 34)
    run.op("consumer-0", "subscribe", 0.01)
    run.send("producer-0", 0, sent_s, topic=TASKS)
    for at in (36, 40):
        run.take("consumer-0", [0], at)
    run.drained(62, consumers=["consumer-0"])

    verdict = counts_of(run.judged(60, 100))
    assert verdict["duplicate"] == (1, allowed)
