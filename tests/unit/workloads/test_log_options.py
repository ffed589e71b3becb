"""What a scenario may say of the log workload, and what that makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.contract.mistakes import validated
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Backlog, Group, Paced
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Workload
from workloads.dedup.workload import DedupWorkload
from workloads.ledger.workload import LedgerWorkload
from workloads.log.options import LogOptions
from workloads.log.workload import LogWorkload
from workloads.subscription.workload import SubscriptionWorkload
from workloads.transactions.workload import TransactionsWorkload


def _options(**given: Any) -> LogOptions:
    return validated(LogOptions, given, "x.yaml", "workload.")


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"message_size": "1"}, "workload.message_size: '1' is not a size; write a number and a unit"),
        ({"message_size": "39B"}, "workload.message_size: must be at least 40"),
        ({"message_size": "2GiB"}, "workload.message_size: must be at most 1GiB"),
        ({"rate": 0}, "workload.rate: write a number of sends per second, such as 2000, or max (given: 0)"),
        ({"rate": "fast"}, "workload.rate: write a number of sends per second, such as 2000, or max (given: 'fast')"),
        ({"partitions": 0}, "workload.partitions: must be at least 1"),
        ({"producers": 0}, "workload.producers: must be at least 1"),
        ({"producers": 2**20}, "workload.producers: must be less than 1048576"),
        ({"consumers": -1}, "workload.consumers: must be at least 0"),
        (
            {"consumption": "groups"},
            "workload.consumption: write one of these: 'assigned' or 'group' (given: 'groups')",
        ),
        ({"consumption": "group", "consumers": 1, "groups": 2}, "set consumers: 2 or more"),
        ({"groups": 2, "consumers": 2}, "workload: groups requires consumption: group"),
        ({"backlog": {"size": "1MiB"}, "consumers": 0}, "workload: backlog requires consumers; set consumers: 1"),
        ({"backlog": {"size": "1MiB"}, "consumers": 2}, "backlog requires consumption: group, or at most 1 consumers"),
        ({"backlog": {"size": "1MiB", "drain": 0}}, "workload.backlog.drain: must be more than 0"),
        ({"backlog": {}}, "workload.backlog.size: "),
        ({"replay": {"after": "2s"}}, "workload.replay.back: "),
        ({"replay": {"after": "2s", "back": "1s", "by": "key"}}, "workload.replay.by: "),
        (
            {"replay": {"after": "2s", "back": "1s"}, "consumers": 0},
            "workload: replay requires consumers; set consumers",
        ),
        ({"replay": {"after": "2s", "back": "1s"}, "backlog": {"size": "1MiB"}}, "workload: backlog counts what was"),
        ({"produser": {}}, 'workload.produser: unknown key; did you mean "producer"?'),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput) as refused:
        _options(**given)

    assert str(refused.value).startswith("x.yaml: workload")
    assert refusal in str(refused.value)


@pytest.mark.parametrize(("given", "size"), [(100, 100), ("100B", 100), ("1KiB", 1024)])
def test_a_message_size_is_bytes_or_has_a_unit(given: object, size: int) -> None:
    assert _options(message_size=given).message_size == size


def test_every_client_is_a_task() -> None:
    tasks = LogWorkload().tasks(_options(producers=2, consumers=1))

    assert [task.client for task in tasks] == ["producer-0", "producer-1", "consumer-0"]


@pytest.mark.parametrize(("given", "brokers", "replication"), [({}, 5, 3), ({}, 2, 2), ({"replication": 1}, 3, 1)])
def test_topics_have_three_replicas_where_there_are_brokers_for_them(
    given: dict[str, Any], brokers: int, replication: int
) -> None:
    topics = LogWorkload().topics(_options(topics=2, partitions=4, **given), brokers)

    assert topics == [Topic(name, LOG, 4, replication) for name in ("log-0", "log-1")]


def test_clients_get_the_settings_of_their_role() -> None:
    options = _options(producer={"acks": 1}, consumer={"fetch.min.bytes": 9})

    assert LogWorkload().client_settings(options, PRODUCER) == {"acks": 1}
    assert LogWorkload().client_settings(options, CONSUMER) == {"fetch.min.bytes": 9}


@pytest.mark.parametrize("workload", [DedupWorkload(), TransactionsWorkload(), SubscriptionWorkload()])
def test_only_logs_have_backlogs(workload: LogWorkload) -> None:
    with pytest.raises(BadInput, match=r"x\.yaml: workload\.backlog: unknown key"):
        validated(workload.options, {"backlog": {"size": "1MiB"}}, "x.yaml", "workload.")


def test_only_a_group_is_one() -> None:
    assert Group() in LogWorkload().traits(_options(consumption="group"))
    assert Group(2, members=2) in LogWorkload().traits(_options(consumption="group", groups=2, consumers=3))
    assert Group() not in LogWorkload().traits(_options())


@pytest.mark.parametrize(
    ("given", "left"), [({}, 1000), ({"drain": 0.5}, 5243), ({"drain": 0.5, "size": 100}, 1000)], ids=str
)
def test_a_backlog_is_so_many_messages_of_all_groups(given: dict[str, Any], left: int) -> None:
    backlog = {"size": "1MiB", "after": "2s", **given}
    options = _options(backlog=backlog, consumption="group", groups=2, consumers=2, message_size=100)

    (trait,) = (trait for trait in LogWorkload().traits(options) if isinstance(trait, Backlog))
    messages = 1 if "size" in given else 10_486
    assert trait == Backlog(2 * SECOND, 2, messages, left, 3600 * SECOND)


@pytest.mark.parametrize(("rate", "per_second"), [(400, 400), ("max", None)])
def test_every_workload_says_when_its_sends_are_due(rate: int | str, per_second: int | None) -> None:
    workloads: list[Workload] = [LogWorkload(), DedupWorkload(), TransactionsWorkload(), LedgerWorkload()]
    for workload in workloads:
        given = {"rate": rate, "writers" if isinstance(workload, LedgerWorkload) else "producers": 3}
        options = validated(workload.options, given, "x.yaml", "workload.")
        assert Paced(per_second, 3, 100) in workload.traits(options)


def test_a_subscription_has_a_rate() -> None:
    options = validated(SubscriptionWorkload.options, {"rate": 400, "producers": 3}, "x.yaml", "workload.")

    assert Paced(400, 3, 100) in SubscriptionWorkload().traits(options)


@pytest.mark.parametrize("workload", [DedupWorkload(), TransactionsWorkload(), SubscriptionWorkload()])
def test_a_recorded_run_may_name_what_a_workload_had_and_did_not_use(workload: Any) -> None:
    assert validated(workload.options, {"backlog": None}, "x.yaml", "workload.") == workload.options()
    with pytest.raises(BadInput, match="unknown key"):
        validated(workload.options, {"backlogs": None}, "x.yaml", "workload.")
