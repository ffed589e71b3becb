"""Losses and duplicates of logs that nothing explains, though something happened nearby; and some that are explained.

Most of these stories were once judged kindly: a fault was near in place and time, and never touched the message."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, counts_of

ALL = ("n1", "n2", "n3")
LOAD = {"kind": "log", "duration": "60s", "producers": 2, "consumers": 2, "rate": 100, "partitions": 1}
GONE = range(3100, 3200)
Faults = Sequence[tuple[str, Sequence[str], float, float, Mapping[str, Any]]]


def _value(number: int) -> int:
    """Two producers send in turn."""
    return (number % 2 << 40) + number // 2


def _verdict(  # noqa: PLR0917 - a story
    folder: Path,
    workload: Mapping[str, Any],
    faults: Faults,
    lost: Collection[int] = (),
    twice: Collection[int] = (),
    standings: Sequence[tuple[float, str, Sequence[str]]] = ((0, "n1", ALL),),
    cluster: Mapping[str, Any] | None = None,
) -> dict[str, tuple[int, bool]]:
    """Tell a story of 6,000 sends, each answered after 2 ms, of which some are lost or in the log twice."""
    given = cluster or {"system": "kafka", "hosts": 4}
    run = type("Run", (StoryRun,), {"cluster": given})(folder, {**LOAD, **workload})
    for at, leader, in_sync in standings:
        run.led(leader, at, holders=ALL, in_sync=in_sync)
    for kind, targets, start, healed, parameters in faults:
        run.fault(kind, targets, start, healed, **parameters)
    read, end = [], 0
    for number in range(6000):
        position = end if twice else number
        run.send(f"producer-{number % 2}", _value(number), number * 0.01, position)
        if number not in lost:
            read += [(_value(number), position + copy) for copy in range(2 if number in twice else 1)]
        end = position + (2 if number in twice else 1)
    run.poll("auditor", 101, read)
    run.bounded(100, end)
    verdict = counts_of(run.judged(60, 100, clients=2))
    return {name: known for name, known in verdict.items() if name != "sequence-jump"}


NOT_AGAIN = {"producer": {"acks": "all", "enable.idempotence": False}}
UNACKED = {"producer": {"acks": 0}}
COUNTS = ("wire", ("n1",), 30, 40, {"message": "*", "then": "count"})


@pytest.mark.parametrize(
    "fault",
    [
        ("client-pause", ("consumer-1",), 30, 34, {}),
        ("disk-slow", ("n4",), 30, 34, {"write_iops": 100}),
        COUNTS,
    ],
    ids=["another client", "another host", "idle"],
)
@pytest.mark.parametrize("anomaly", ["lost", "duplicate"])
def test_who_is_not_on_the_way_explains_nothing(tmp_path: Path, fault: Any, anomaly: str) -> None:
    if anomaly == "lost":
        assert _verdict(tmp_path, UNACKED, [fault], lost=GONE) == {"lost": (100, False)}
    else:
        assert _verdict(tmp_path, NOT_AGAIN, [fault], twice=GONE) == {"duplicate": (100, False)}


@pytest.mark.parametrize(
    ("wire", "twice", "allowed"),
    [
        ({"message": "Produce", "of_client": "*producer-1*", "count": 1}, range(3100, 3600, 2), False),
        ({"message": "Heartbeat", "of": "request", "count": 1, "then": "duplicate"}, range(3100, 3600), False),
        ({"message": "Produce", "count": 1}, range(3101, 3103, 2), True),
    ],
    ids=["of another client", "another message", "one answer, one message"],
)
def test_one_answer_explains_one_message_of_its_client(
    tmp_path: Path, wire: dict[str, Any], twice: range, allowed: bool
) -> None:
    given = {"of": "response", "then": "drop", **wire}

    verdict = _verdict(tmp_path, NOT_AGAIN, [("wire", ("n1",), 30, 40, given)], twice=twice)
    assert verdict == {"duplicate": (len(twice), allowed)}


def test_more_messages_twice_than_answers_were_lost_are_not_explained(tmp_path: Path) -> None:
    wire = {"message": "Produce", "of": "response", "then": "drop", "count": 3}

    assert _verdict(tmp_path, NOT_AGAIN, [("wire", ("n1",), 30, 40, wire)], twice=GONE) == {"duplicate": (100, False)}


def test_an_election_by_itself_explains_nothing(tmp_path: Path) -> None:
    standings = [(0.0, "n1", ALL), (31.0, "n2", ALL)]
    workload = {"producer": {"acks": 1}}

    assert _verdict(tmp_path, workload, [COUNTS], range(3000, 3100), (), standings) == {"lost": (100, False)}


MIN_TWO = {"system": "kafka", "hosts": 3, "topic": {"min.insync.replicas": 2}}


@pytest.mark.parametrize(
    ("cluster", "workload", "fault"),
    [
        ({"system": "kafka", "hosts": 3}, {}, ("power-cut", ("n3",), {})),
        (MIN_TWO, {}, ("power-cut", ("n2", "n3"), {})),
        ({"system": "kafka", "hosts": 3}, {}, ("disk-wipe", ("n3",), {})),
        ({"system": "kafka", "hosts": 3}, {}, ("bit-flip", ("n3",), {"what": "segment"})),
        (
            {"system": "rocketmq", "hosts": 3, "mode": "controller"},
            {"producer": {"send": "sync"}},
            ("power-cut", ("n3",), {}),
        ),
        ({"system": "rabbitmq", "hosts": 3, "version": "4.0.5"}, {"type": "stream"}, ("power-cut", ("n2", "n3"), {})),
    ],
    ids=["power", "power of two", "disk", "bit", "slave", "stream"],
)
def test_what_happens_to_followers_takes_nothing_from_the_leader(
    tmp_path: Path, cluster: dict[str, Any], workload: dict[str, Any], fault: tuple[str, tuple[str, ...], Any]
) -> None:
    kind, targets, parameters = fault
    rest = [host for host in ALL if host not in targets]
    standings: list[tuple[float, str, Sequence[str]]] = [(0, "n1", ALL), (12, "n1", rest), (20, "n1", ALL)]
    faults = [(kind, targets, 11.0, 15.0, parameters)]

    verdict = _verdict(tmp_path, {"producers": 2, **workload}, faults, range(1000, 1100), (), standings, cluster)
    assert verdict["lost"] == (100, False)


def test_a_changed_file_takes_nothing_that_was_written_later(tmp_path: Path) -> None:
    flip = ("bit-flip", ("n1",), 10.0, 14.0, {"what": "segment"})

    assert _verdict(tmp_path, {}, [flip], range(4000, 4100))["lost"] == (100, False)


@pytest.mark.parametrize(
    ("forced", "fault"),
    [
        ("yes", ("bit-flip", ("n6",), 10.0, 14.0, {"files": "zookeeper/**"})),
        ("no", ("power-cut", ("n6",), 39.0, 41.0, {})),
    ],
)
def test_one_of_three_zookeepers_forgets_nothing_that_two_know(tmp_path: Path, forced: str, fault: Any) -> None:
    zookeeper = {"hosts": 3, "config": {"forceSync": forced}}
    cluster = {"system": "kafka", "hosts": 6, "version": "2.3.0", "metadata": "zookeeper", "zookeeper": zookeeper}

    assert _verdict(tmp_path, {}, [fault], range(4000, 4100), cluster=cluster)["lost"] == (100, False)


@pytest.mark.parametrize("second", [16.0, 18.5])
def test_cuts_of_one_host_after_the_other_took_nothing_that_was_in_sync_in_between(
    tmp_path: Path, second: float
) -> None:
    standings: list[tuple[float, str, Sequence[str]]] = [
        (0, "n3", ALL),
        (10.1, "n3", ("n2", "n3")),
        (13, "n3", ALL),
        (second + 0.1, "n3", ("n1", "n3")),
        (second + 4, "n3", ALL),
    ]
    faults: Faults = [("power-cut", ("n1",), 10, 12, {}), ("power-cut", ("n2",), second, second + 2, {})]

    assert _verdict(tmp_path, {}, faults, range(1600, 1700), (), standings, MIN_TWO)["lost"] == (100, False)


def test_a_replica_that_was_out_of_sync_for_long_lacks_all_of_that_time(tmp_path: Path) -> None:
    standings: list[tuple[float, str, Sequence[str]]] = [(0, "n1", ALL), (2, "n1", ("n1",)), (55.5, "n2", ("n2",))]
    faults: Faults = [("partition", ("n2", "n3"), 1, 9, {}), ("kill", ("n1",), 55, 58, {})]
    cluster = {"system": "kafka", "hosts": 3, "topic": {"unclean.leader.election.enable": "true"}}

    verdict = _verdict(tmp_path, {}, faults, range(200, 5500), (), standings, cluster)
    assert verdict["lost"] == (5300, True)


@pytest.mark.parametrize(("first", "allowed"), [(1300, True), (1000, False)])
def test_a_replica_that_stopped_fetching_lacks_what_was_sent_while_it_still_counted_as_in_sync(
    tmp_path: Path, first: int, allowed: bool
) -> None:
    """The followers are paused at 13 s, and out of sync at 15.7 s. A look just after the pause is answered by one of
    them, which shows the state of before, while the leader is dead."""
    standings: list[tuple[float, str, Sequence[str]]] = [
        (0, "n1", ALL), (15.7, "n1", ("n1",)), (21.1, "n1", ALL), (22.1, "n1", ("n1",)), (24.1, "n2", ("n2", "n3")),
    ]  # fmt: skip
    faults: Faults = [("pause", ("n2", "n3"), 12.9, 21, {}), ("kill", ("n1",), 20.2, 32.8, {})]
    cluster = {
        "system": "kafka",
        "hosts": 3,
        "topic": {"unclean.leader.election.enable": "true"},
        "config": {"replica.lag.time.max.ms": 1500},
    }

    lost = range(first, 2020)
    verdict = _verdict(tmp_path, {"producer": {"acks": 1}}, faults, lost, (), standings, cluster)
    assert verdict["lost"] == (len(lost), allowed)


@pytest.mark.parametrize(("lost", "allowed"), [(range(2990, 3010), True), (range(3380, 3400), False)])
def test_an_acknowledgement_that_came_just_after_the_leader_was_gone_is_its_own(
    tmp_path: Path, lost: range, allowed: bool
) -> None:
    standings: list[tuple[float, str, Sequence[str]]] = [(0, "n1", ALL), (30.05, "", ()), (44, "n1", ALL)]
    faults: Faults = [("power-cut", ALL, 30, 40, {"proved_after": 0.2})]

    assert _verdict(tmp_path, {}, faults, lost, (), standings)["lost"] == (20, allowed)


@pytest.mark.parametrize(("written_s", "allowed"), [(24.52, True), (25.5, False)])
def test_a_replica_that_ended_after_a_message_was_written_may_have_had_it(
    tmp_path: Path, written_s: float, allowed: bool
) -> None:
    """Two replicas end, which is proved at 24.7 s. A message is acknowledged once one of them is out of sync; then the
    leader loses what it did not flush."""
    cluster = {"system": "kafka", "hosts": 3, "topic": {"min.insync.replicas": 2}}
    run = type("Run", (StoryRun,), {"cluster": cluster})(tmp_path, {**LOAD, "producer": {"acks": "all"}})
    out = [(0, "n1", ALL), (26.7, "n1", ("n1", "n2")), (27.8, "n1", ("n1",)), (35, "", ()), (37.5, "n1", ("n1",))]
    for at, leader, in_sync in out:
        run.led(leader, at, holders=ALL, in_sync=in_sync)
    run.fault("kill", ("n2", "n3"), 24.5, 38, proved_after=0.2)
    run.fault("power-cut", ("n1",), 30, 35)
    run.send("producer-0", 0, written_s, 0, took=26.3 - written_s)
    run.poll("consumer-0", 26.4, [(0, 0)])
    run.poll("auditor", 101, [])
    run.bounded(100, 0)

    assert counts_of(run.judged(60, 100, clients=2))["lost"] == (1, allowed)
