"""What a subscriber lacks, or gets twice, is explained by what happened to it, or on its way; by nobody else's fate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from runs import FEED, FeedRun, counts_of

AT_MOST_ONCE, AT_LEAST_ONCE = ("at-most-once", False, None), ("at-least-once", True, None)
EXACTLY_ONCE = ("exactly-once", True, None)
LASTS = {"producer": {"qos": 1}, "consumer": {"qos": 1, "clean_session": False}}
QOS_2 = {"producer": {"qos": 2, "clean_session": False}, "consumer": {"qos": 2, "clean_session": False}}
SUBSCRIBERS = ("consumer-0", "consumer-1", "consumer-2")
AWAY = ("client-crash", ("consumer-0",), 4, 12)


def _value(number: int) -> int:
    """Two publishers send in turn."""
    return (number % 2 << 40) + number // 2


def _verdict(  # noqa: PLR0917 - a story
    folder: Path,
    workload: Mapping[str, Any],
    promise: tuple[str, bool, int | None],
    faults: Sequence[tuple[str, Sequence[str], float, float]] = (),
    lacks: tuple[str, Collection[int]] = ("", ()),
    config: Mapping[str, Any] | None = None,
    away: tuple[str, float, float] | None = None,
    again: Collection[int] = (),
) -> dict[str, tuple[int, bool]]:
    """Tell a story of 3,000 messages in 30 s, which every subscriber gets after 4 ms, but for what one lacks, or gets
    half a second later again; one may be away for a time, and gets what waited when it is back."""
    cluster = {"system": "mosquitto", "hosts": 1, "version": "2.0.21", "config": dict(config or {})}
    load = {"producers": 2, "consumers": 3, "rate": 100, "duration": "40s", **workload}
    run = FeedRun(folder, load, promise, cluster)
    for client in SUBSCRIBERS:
        run.join(client, 0.01)
    for kind, targets, start, healed in faults:
        run.fault(kind, targets, start, healed)
    waited: list[int] = []
    for number in range(3000):
        at = 1 + number * 0.01
        run.send(f"producer-{number % 2}", _value(number), at, took=0.003, topic=FEED)
        for client in SUBSCRIBERS:
            if client == lacks[0] and number in lacks[1]:
                continue
            if away is not None and client == away[0] and away[1] <= at < away[2] + 0.3:
                waited.append(_value(number))
                continue
            if waited and away is not None and client == away[0]:
                run.get(client, waited, away[2] + 0.298)
                waited = []
            run.get(client, [_value(number)], at + 0.004)
        if number in again:
            run.get("consumer-2", [_value(number)], at + 0.5, delivery=1)
    run.probed(40, SUBSCRIBERS)
    return counts_of(run.judged(32, 100, clients=2))


BYSTANDER, OWN = ("client-pause", ("consumer-0",), 11, 12), ("client-pause", ("consumer-2",), 11, 14)


@pytest.mark.parametrize(("fault", "allowed"), [(BYSTANDER, False), (OWN, True)])
def test_without_acknowledgements_a_subscriber_misses_what_its_own_way_lost(
    tmp_path: Path, fault: Any, allowed: bool
) -> None:
    workload = {"producer": {"qos": 0}, "consumer": {"qos": 0}}

    verdict = _verdict(tmp_path, workload, AT_MOST_ONCE, [fault], ("consumer-2", range(1000, 1300)))
    assert verdict == {"missed": (300, allowed)}


@pytest.mark.parametrize(
    ("most", "client", "gone", "allowed"),
    [
        (1000, "consumer-0", range(310, 1010), False),
        (1000, "consumer-2", range(310, 1810), False),
        (100, "consumer-0", range(420, 1100), True),
    ],
    ids=["not full", "of another subscriber", "full"],
)
def test_a_queue_drops_what_comes_when_it_is_full(
    tmp_path: Path, most: int, client: str, gone: range, allowed: bool
) -> None:
    config = {"max_queued_messages": most}

    verdict = _verdict(tmp_path, LASTS, AT_LEAST_ONCE, [AWAY], (client, gone), config, away=("consumer-0", 4, 12))
    assert verdict == {"lost": (len(gone), allowed)}


@pytest.mark.parametrize(
    "faults",
    [[("client-pause", ("producer-1",), 11, 12)], [("client-pause", ("consumer-2",), 11, 17)], []],
    ids=["a publisher", "it stood still", "none"],
)
def test_what_a_client_keeps_in_memory_is_lost_with_that_client_only(tmp_path: Path, faults: Any) -> None:
    verdict = _verdict(tmp_path, QOS_2, EXACTLY_ONCE, faults, ("consumer-2", range(1000, 1500)))

    assert verdict == {"lost": (500, False)}


def test_a_session_that_expired_is_that_of_its_own_subscriber(tmp_path: Path) -> None:
    consumer = {**LASTS["consumer"], "protocol": "5", "session_expiry": "4s"}
    config = {"max_queued_messages": 0}

    verdict = _verdict(
        tmp_path, {**LASTS, "consumer": consumer}, AT_LEAST_ONCE, [AWAY], ("consumer-2", range(1000, 1500)), config,
        away=("consumer-0", 4, 12),
    )  # fmt: skip
    assert verdict == {"lost": (500, False)}


@pytest.mark.parametrize(
    ("client", "gone", "allowed"),
    [
        ("consumer-0", range(310, 790), True),
        ("consumer-0", range(310, 900), False),  # some had waited for less than that when it was back
        ("consumer-0", range(1500, 1700), False),  # it was there
        ("consumer-2", range(310, 790), False),  # another one was away
    ],
)
def test_a_message_expires_that_waited_for_its_own_subscriber_for_long_enough(
    tmp_path: Path, client: str, gone: range, allowed: bool
) -> None:
    producer = {**LASTS["producer"], "protocol": "5", "message_expiry": "3s"}
    config = {"max_queued_messages": 0}

    verdict = _verdict(
        tmp_path, {**LASTS, "producer": producer}, AT_LEAST_ONCE, [AWAY], (client, gone), config,
        away=("consumer-0", 4, 12),
    )  # fmt: skip
    assert verdict == {"lost": (len(gone), allowed)}


@pytest.mark.parametrize(("fault", "allowed"), [(BYSTANDER, False), (OWN, True)])
def test_a_message_comes_again_to_whose_connection_ended(tmp_path: Path, fault: Any, allowed: bool) -> None:
    verdict = _verdict(tmp_path, LASTS, AT_LEAST_ONCE, [fault], again=range(1000, 1300))

    assert verdict == {"redelivered": (300, allowed)}


def test_what_waits_may_be_of_any_age(tmp_path: Path) -> None:
    """A session of 100 s, in the memory of a broker that is killed."""
    cluster = {"system": "mosquitto", "hosts": 1, "version": "2.0.21", "config": {"max_queued_messages": 0}}
    run = FeedRun(tmp_path, {"consumers": 2, "rate": 10, "duration": "130s", **LASTS}, AT_LEAST_ONCE, cluster)
    for client in ("consumer-0", "consumer-1"):
        run.join(client, 0.01)
    run.fault("client-crash", ("consumer-0",), 5, 115)
    run.fault("kill", ("n1",), 110, 111)
    numbers = [number for number in range(1200) if not 110 <= 1 + number * 0.1 < 112]
    for number in numbers:
        at = 1 + number * 0.1
        run.send("producer-0", number, at, topic=FEED)
        run.get("consumer-1", [number], at + 0.004)
        if at < 5 or at > 115.3:
            run.get("consumer-0", [number], at + 0.005)
    run.join("consumer-0", 115.05)
    run.get("consumer-0", range(1110, 1144), 115.25)
    run.probed(130, ("consumer-0", "consumer-1"))

    assert counts_of(run.judged(122, 10))["lost"] == (1050, True)


def test_a_cache_may_be_of_any_age(tmp_path: Path) -> None:
    cluster = {"system": "zenoh", "hosts": 3}
    given = [("replayed", 100)]
    workload = {
        "consumers": 2, "rate": 1, "late": 1, "late_by": "120s", "duration": "150s",
        "producer": {"congestion": "block", "cache": 100}, "consumer": {"history": 100},
    }  # fmt: skip
    run = FeedRun(tmp_path, workload, ("at-least-once", False, None), cluster, given=given)
    run.join("consumer-0", 0.01)
    for number in range(100):
        run.send("producer-0", number, 1.0 + number, topic=FEED)
        run.get("consumer-0", [number], 1.004 + number)
    run.fault("client-crash", ("producer-0",), 101.5, 140)
    run.join("consumer-1", 120)
    run.probed(150, ("consumer-0", "consumer-1"))

    assert counts_of(run.judged(101, 1))["late-joiner-lost"] == (100, True)


@pytest.mark.parametrize(
    ("qos", "history", "promise"),
    [
        ("reliable", {"history": "keep-last", "depth": 1}, ("at-least-once", False, 1)),
        ("best-effort", {}, ("at-most-once", False, None)),
    ],
)
def test_a_reader_that_is_slower_than_its_writer_misses_samples_without_a_fault(
    tmp_path: Path, qos: str, history: dict[str, Any], promise: tuple[str, bool, int | None]
) -> None:
    sides = {"qos": qos, **history}
    workload = {"rate": "max", "duration": "10s", "producer": sides, "consumer": sides}
    run = FeedRun(tmp_path, workload, promise, {"system": "cyclonedds", "hosts": 3})
    run.join("consumer-0", 0.01)
    for number in range(20_000):
        at = 1 + number * 0.0005
        run.send("producer-0", number, at, took=0.0001, topic=FEED)
        if number % 20 == 19:
            run.get("consumer-0", [number], at + 0.0003)
    run.probed(14, ("consumer-0",))

    assert counts_of(run.judged(11.2)) == {"missed": (19_000, True)}
