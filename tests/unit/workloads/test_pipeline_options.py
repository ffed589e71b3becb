"""What an application is fed, where an output has the id of its input, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.mistakes import validated
from workloads.pipeline.identity import Identity
from workloads.pipeline.inputs import Payload, value_of
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.workload import PipelineWorkload

WHOLE: Mapping[str, Any] = {
    "reads": {"topic": "orders", "partitions": 3},
    "writes": {"topic": "payments"},
    "application": {"run": ["app"]},
}
QUEUES: Mapping[str, Any] = {"reads": {"queue": "orders"}, "writes": {"queue": "payments"}}


def options(**given: Any) -> PipelineOptions:
    return validated(PipelineOptions, {**WHOLE, **given}, "mine.yaml", "workload.")


def make_order(number: int) -> dict[str, Any]:
    """A payload of the user's."""
    return {"order": {"id": number}, "amount": 7}


def as_many(number: int) -> Any:
    """How many outputs an input has, of the user's."""
    return {0: 0, 1: (1, 3), 2: 2}.get(number, "many")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"text": "order {id}"},
        {"json": {"order": "{id}", "amount": 1}},
        {"python": "test_pipeline_options:make_order"},
    ],
)
def test_an_input_is_known_by_its_payload(payload: Mapping[str, Any]) -> None:
    make = Payload.model_validate(payload).maker()

    for number in (0, 7, 1 << 40):
        assert value_of(make(number), make) == number
    assert value_of(b"something else 3", make) is None


@pytest.mark.parametrize(
    ("identity", "value", "key", "headers", "number"),
    [
        ({}, b"17", None, {}, 17),
        ({}, b"17 ", None, {}, 17),
        ({}, b"seventeen", None, {}, None),
        ({"json": "/order/id"}, b'{"order": {"id": 5}}', None, {}, 5),
        ({"json": "/lines/1"}, b'{"lines": [1, "2"]}', None, {}, 2),
        ({"json": "/a~1b"}, b'{"a/b": 9}', None, {}, 9),
        ({"json": "/order"}, b"no JSON", None, {}, None),
        ({"json": "/order"}, b'{"other": 1}', None, {}, None),
        ({"header": "id"}, b"", None, {"id": b"4"}, 4),
        ({"header": "id"}, b"", None, {}, None),
        ("key", b"", b"8", {}, 8),
        ({"regex": "order-([0-9]+)"}, b"paid order-12 twice", None, {}, 12),
        ({"regex": "order-([0-9]+)"}, b"paid", None, {}, None),
    ],
)
def test_where_the_id_is(
    identity: Any, value: bytes, key: bytes | None, headers: Mapping[str, bytes], number: int | None
) -> None:
    assert Identity.model_validate(identity).finder()(value, key, headers) == number


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"payload": {"text": "order"}}, "nothing in it tells one input from another"),
        ({"payload": {"json": {"order": 1}}}, "nothing in it tells one input from another"),
        ({"payload": {"python": "nothing.here:make"}}, "cannot be imported"),
        ({"payload": {"python": "make"}}, "names no function"),
        ({"identity": {"json": "order"}}, "no JSON pointer"),
        ({"identity": {"regex": "order"}}, "must have one group"),
        ({"identity": {"regex": "("}}, "no regular expression"),
        ({"identity": {"key": True, "header": "id"}}, "give one of"),
        ({"outputs": "2..1"}, "no range"),
        ({"outputs": 0}, "no range"),
        ({"outputs": {"python": "nothing.here:count"}}, "cannot be imported"),
        ({"writes": {}}, "write one of topic, queue, http"),
        ({"writes": {"topic": "a", "http": "/b"}}, "write one of topic, queue, http"),
        ({"writes": {"lines": "stdout", "sql": "select 1", "postgresql": {}}}, "write one of topic, queue, http"),
        ({"writes": {"lines": "logs/out.log"}}, "write stdout, a name such as paid.log, or a full path"),
        ({"writes": {"lines": "application-0.log"}}, "chaoskit's own logs"),
        (
            {"writes": {"topic": "a", "promise": "exactly-once"}, "promise": "at-most-once"},
            "remove promise from writes",
        ),
        ({"writes": {"lines": "stdout", "partitions": 2}}, "partitions belongs to a topic"),
        ({"writes": {"lines": "stdout"}, "identity": "key"}, "lines:stdout has neither keys nor headers"),
        ({"writes": {"http": "/pay"}, "identity": "key"}, "http:/pay has no keys"),
        ({"writes": {"lines": "stdout"}, "application": {"external": True}}, "of instances that chaoskit starts"),
        ({"writes": {"sql": "select 1"}}, "sql needs a database"),
        ({"writes": {"sql": "select 1", "url": "sqlite:////a.db", "postgresql": {}}}, "sql needs a database"),
        ({"writes": {"sql": "select 1", "url": "sqlite:////a.db", "tables": "create"}}, "make those of url yourself"),
        ({"writes": {"topic": "a", "url": "sqlite:////a.db"}}, "url belongs to sql"),
        ({"writes": {"sql": "select 1", "postgresql": {}}, "application": {"external": True}}, "hosts of the lab only"),
        (
            {"writes": [{"sql": "select 1", "postgresql": {}}, {"sql": "select 2", "postgresql": {}}]},
            "chaoskit runs one database",
        ),
        ({"writes": {"http": "/b", "partitions": 2}}, "partitions belongs to a topic"),
        ({"writes": {"topic": "orders"}}, "name a topic twice"),
        ({"reads": {}}, "write one of topic and queue"),
        ({"reads": {"queue": "orders", "partitions": 2}}, "partitions belongs to a topic"),
        ({"writes": {"topic": "a", "type": "quorum"}}, "type belongs to a queue"),
        ({"writes": {"queue": "a"}}, "both topics, or both queues"),
        ({**QUEUES, "writes": {"topic": "a"}}, "both topics, or both queues"),
        ({**QUEUES, "keys": 3}, "messages of queues have none"),
        ({**QUEUES, "identity": "key"}, "header: message_id"),
        ({**QUEUES, "application": {"external": True}}, "read from its connections"),
        ({"application": {}}, "run is missing"),
        ({"application": {"external": True, "run": ["app"]}}, "means that you run it"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Mapping[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        options(**given)

    assert words in str(refused.value)
    assert str(refused.value).startswith("mine.yaml: workload")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"writes": [{"topic": "a", "partitions": 2}, {"http": "/pay", "key": "Idempotency-Key"}]},
        {"writes": {"http": "/pay", "answers": [{"from": "1s", "to": "2s", "do": "slow", "by": "3s"}]}},
        {"outputs": 2},
        {"outputs": [1, 3]},
        {"outputs": {"python": "test_pipeline_options:as_many"}},
        {"writes": [{"lines": "stdout"}, {"lines": "/tmp/payments-{instance}.log"}]},
        {
            "writes": {
                "sql": "select id from paid",
                "postgresql": {"fsync": False},
                "tables": "create table paid (id int)",
            }
        },
        {"writes": {"sql": "select id from paid", "url": {"env": "DATABASE"}}},
        {"writes": [{"lines": "paid.log"}, {"topic": "a", "promise": "exactly-once"}]},
        {**QUEUES, "writes": [{"queue": "payments", "type": "classic"}, {"http": "/pay"}]},
        {"outputs": "0..2", "identity": {"json": "/id"}, "payload": {"json": {"id": "{id}"}}},
        {"application": {"external": True}},
        {"application": {"run": "exec app", "restart": "never", "env": {"A": "b"}}},
    ],
)
def test_what_is_recorded_can_be_run_again(given: Mapping[str, Any]) -> None:
    wanted = options(**given)

    assert PipelineOptions.model_validate(wanted.model_dump(mode="json", by_alias=True)) == wanted


def test_inputs_of_a_key_go_to_one_partition() -> None:
    routes = options(keys=20).routes()

    assert len(routes) == 20
    assert len({(key, partition) for _, partition, key in routes}) == 20
    assert {partition for _, partition, _ in routes} == {0, 1, 2}


def test_a_function_says_how_many_outputs_an_input_has() -> None:
    count = options(outputs={"python": "test_pipeline_options:as_many"}).outputs

    assert [count.of(number) for number in range(3)] == [(0, 0), (1, 3), (2, 2)]
    with pytest.raises(BadInput, match="returned 'many' for 3"):
        count.of(3)
    assert options(outputs="0..1").outputs.of(3) == (0, 1)


def test_a_sink_has_a_name_and_partitions() -> None:
    files = {"lines": "/tmp/a-{instance}"}, {"lines": "/tmp/b"}
    given = options(
        writes=[{"lines": "stdout"}, *files, {"sql": "select id\n  from paid", "postgresql": {}}],
        application={"run": ["app"], "instances": 2},
    )
    topics = {topic.name: topic.partitions for topic in PipelineWorkload().topics(given, 3)}

    assert topics == {
        "orders": 3,
        "lines:stdout": 2,
        "lines:/tmp/a-{instance}": 2,
        "lines:/tmp/b": 1,
        "sql:select id from paid": 1,
    }


def test_instances_are_told_where_they_write() -> None:
    sinks = [{"lines": "stdout"}, {"topic": "payments"}, {"sql": "select 1", "postgresql": {}}, {"lines": "paid.log"}]
    application = PipelineWorkload().application(options(writes=sinks))

    assert application is not None
    assert application.names["writes"] == ["", "payments", "", "lines:paid.log"]
    assert application.files == {"lines:paid.log": "paid.log"}
