"""What feeds an application has settings with which it sends nothing twice, unless the scenario has others."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.contract.installed import system, workload
from chaoskit.scenario.applications import fed
from clusters.kafka.clients.settings import resolve_producer
from workloads.log.workload import LogWorkload

_PIPELINE = {
    "reads": {"topic": "orders"},
    "writes": {"topic": "payments"},
    "promise": "at-least-once",
    "application": {"run": ["true"]},
}


def _producer(of: str, given: dict[str, Any], **changed: Any) -> dict[str, Any]:
    pipeline = workload("pipeline", "pipeline")
    options = pipeline.options.model_validate({**_PIPELINE, **changed, "producer": given})
    producer: dict[str, Any] = fed(system(of, "system"), pipeline, options).producer
    return producer


def test_librdkafka_waits_and_has_one_request_in_flight() -> None:
    settings = resolve_producer(_producer("kafka", {}))

    assert settings["delivery.timeout.ms"] == 600_000
    assert settings["max.in.flight.requests.per.connection"] == 1


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"message.timeout.ms": 5000}, "delivery.timeout.ms", 5000),
        ({"max.in.flight": 5}, "max.in.flight.requests.per.connection", 5),
        ({"acks": 1}, "acks", 1),
    ],
)
def test_what_the_scenario_says_stays(given: dict[str, Any], name: str, value: object) -> None:
    assert resolve_producer(_producer("kafka", given))[name] == value


def test_other_systems_need_nothing() -> None:
    assert _producer("rabbitmq", {}, reads={"queue": "orders"}, writes={"queue": "payments"}) == {}


def test_other_workloads_are_as_they_were() -> None:
    options = LogWorkload().options()

    assert fed(system("kafka", "system"), LogWorkload(), options) is options
