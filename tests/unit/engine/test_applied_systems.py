"""What a system has for an application under test: settings with which its inputs are sent once, and a class path."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.installed import system, workload
from chaoskit.scenario.applications import check_application, fed
from chaoskit.scenario.model import ClusterSpec
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


@pytest.mark.parametrize("where", ["run", "env"])
def test_a_class_path_that_there_is_not_is_refused_before_anything_starts(where: str) -> None:
    application = {"run": ["java", "X"], where: ["-cp", "{jars}"] if where == "run" else {"CLASSPATH": "{jars}"}}
    pipeline = workload("pipeline", "pipeline")
    options = pipeline.options.model_validate({**_PIPELINE, "application": application})
    kafka, pulsar = (system(name, "system") for name in ("kafka", "pulsar"))

    check_application(ClusterSpec(system="kafka"), kafka, kafka.options(), pipeline, options)
    with pytest.raises(BadInput, match=r"there are no \{jars\} of this system"):
        check_application(ClusterSpec(system="pulsar"), pulsar, pulsar.options(), pipeline, options)
