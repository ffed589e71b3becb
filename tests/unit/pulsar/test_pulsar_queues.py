"""Queues in Pulsar: what is refused before anything starts, what brokers do by themselves, and what is allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import guaranteed
import pytest
from guaranteed import SECOND, effect
from queued import queued

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from checkers.queue.queues import QueueChecker
from clusters.pulsar.clients.queues import imposed
from clusters.pulsar.settings import PulsarOptions

KILLED = effect("kill", "n1")
AHEAD = replace(effect("clock-jump", "n1"), ahead_ns=10 * SECOND)
STRICT = {"broker": {"isDelayedDeliveryDeliverAtTimeStrict": True}}


def _declared(**given: Any) -> Declared:
    return queued(**{"deduplication": True, **given})


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"queueing": {"confirms": False}}, r"workload\.confirms: brokers answer every send"),
        (
            {"queueing": {"features": (("reject_every", QueueFeature.REFUSAL),)}},
            r"workload\.reject_every: .*; use return_every with delivery_limit and dead_letters",
        ),
        ({"queueing": {"features": (("message_ttl", QueueFeature.EXPIRY),)}}, r"workload\.message_ttl: .*; use ttl"),
        ({"settings": {"message-ttl": 1500}}, r"workload\.ttl: Pulsar counts in seconds"),
        (
            {"settings": {"message-ttl": 1000, "dead-letters": 1, "delivery-limit": 1}},
            r"workload\.ttl: .*; remove dead_letters",
        ),
        ({"settings": {"dead-letters": 1}}, r"workload\.dead_letters: .*; set delivery_limit"),
        ({"settings": {"delivery-limit": 1}}, r"workload\.delivery_limit: .*; set dead_letters: true"),
        ({"consumer": {"receiver_queue_size": 5}}, r"workload\.consumer\.receiver_queue_size: pulsar-client has no"),
        ({"consumer": {"consumer_type": "Shared"}}, r"workload\.consumer\.consumer_type: pulsar-client has no"),
        (
            {"consumer": {"unacked_messages_timeout_ms": 10_000}},
            r"workload\.consumer\.unacked_messages_timeout_ms: .*; remove it, or use workload\.kind: subscription",
        ),
        (
            {"consumer": {"negative_ack_redelivery_delay_ms": 60_000}},
            r"workload\.consumer\.negative_ack_redelivery_delay_ms: .*; write 20000 at most",
        ),
        ({"producer": {"acks": 1}}, r"workload\.producer\.acks: pulsar-client has no such setting"),
        (
            {"namespace": {"backlogQuota": {"policy": "consumer_backlog_eviction"}}},
            r"cluster\.namespace\.backlogQuota: .*; use producer_exception",
        ),
        (
            {"config": {"broker": {"backlogQuotaDefaultRetentionPolicy": "consumer_backlog_eviction"}}},
            r"cluster\.config\.broker\.backlogQuotaDefaultRetentionPolicy: .*; use producer_exception",
        ),
    ],
)
def test_what_queues_of_pulsar_cannot_do_is_refused(given: dict[str, Any], refusal: str) -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")

    with pytest.raises(BadInput, match=refusal):
        system.check(_declared(**given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"settings": {"delivery-limit": 2, "dead-letters": 1}},
        {"settings": {"message-ttl": 2000, "delay": 1500}},
        {"consumer": {"negative_ack_redelivery_delay_ms": 100}, "producer": {"batching_enabled": True}},
    ],
)
def test_what_they_can_do_is_accepted(given: dict[str, Any]) -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")

    system.check(_declared(**given))


@pytest.mark.parametrize(
    ("options", "settings", "imposed_settings"),
    [
        ({}, {}, {}),
        ({}, {"delay": 4000}, {"delay": 3000}),
        ({}, {"delay": 500}, {"delay": 0}),
        ({"config": STRICT}, {"delay": 4000}, {}),
        ({"config": {"broker": {"delayedDeliveryTickTimeMillis": 100}}}, {"delay": 4000}, {"delay": 3900}),
        ({"namespace": {"messageTTL": 7}}, {}, {"message-ttl": 7000}),
        ({"namespace": {"messageTTL": 7}}, {"message-ttl": 1000}, {}),
        ({"config": {"broker": {"ttlDurationDefaultInSeconds": 9}}}, {}, {"message-ttl": 9000}),
    ],
)
def test_what_brokers_do_besides_what_was_declared(
    options: dict[str, Any], settings: dict[str, int], imposed_settings: dict[str, int]
) -> None:
    topic = Topic("queue-0", QUEUE, settings=tuple(settings.items()))

    assert imposed(PulsarOptions.model_validate(options), topic) == imposed_settings
    assert imposed(PulsarOptions.model_validate(options), Topic("log-0")) == {}


BATCHES = {"producer": {"batching_enabled": True}}
INDEXED = {
    "consumer": {"batch_index_ack_enabled": True},
    "config": {"broker": {"acknowledgmentAtBatchIndexLevelEnabled": True}},
}
UNSETTLED = {"queueing": {"unsettled": True}}
UNMARKED = {"redelivery-flag-missing"}
FORGOTTEN = UNMARKED | {"delivery-limit-exceeded", "fifo-violation"}
EXPIRED = {"dropped", "expired-late"}


@pytest.mark.parametrize(
    ("given", "effects", "allowed"),
    [
        ({}, [], set()),
        (UNSETTLED, [], UNMARKED),
        ({"queueing": {"crashes": True}}, [], FORGOTTEN),
        ({}, [KILLED], FORGOTTEN | {"duplicate", "dead-letter-twice"}),
        ({"queueing": {"consumers": 0}}, [KILLED], set()),
        (BATCHES, [], set()),
        ({**BATCHES, **UNSETTLED}, [], UNMARKED | {"duplicate"}),
        ({**BATCHES, **UNSETTLED, **INDEXED}, [], UNMARKED),
        ({"settings": {"message-ttl": 1000}}, [], EXPIRED),
        ({"namespace": {"messageTTL": 1}}, [], EXPIRED),
        ({"settings": {"delay": 1000}}, [], set()),
        ({"settings": {"delay": 1000}, "queueing": {"consumers": 0}}, [AHEAD], {"delivered-early"}),
        ({"queueing": {"consumers": 0}}, [AHEAD], set()),
    ],
)
def test_what_is_allowed_of_queues(given: dict[str, Any], effects: list[Effect], allowed: set[str]) -> None:
    known = {anomaly.name for anomaly in QueueChecker.anomalies}

    table = guaranteed.table("pulsar", _declared(**given), effects)

    assert {name for name, allowance in table.items() if allowance.allowed and name in known} == allowed


def test_every_anomaly_of_a_queue_has_a_line() -> None:
    known = {anomaly.name for anomaly in QueueChecker.anomalies if not anomaly.measured}

    assert known <= set(guaranteed.table("pulsar", _declared(), [])) | {"unseen"}
