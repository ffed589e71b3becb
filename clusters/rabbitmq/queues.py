"""What RabbitMQ stores a topic in: its queues or streams, with their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, QUEUE, DataModel
from chaoskit.contract.workloads.topic import DEAD, Topic
from chaoskit.model.place import Place
from clusters.rabbitmq.releases import parse_version
from clusters.rabbitmq.routing import DELAYED
from clusters.rabbitmq.streams.names import stream_name

QUORUM, CLASSIC, MIRRORED, STREAM = "quorum", "classic", "mirrored", "stream"
TYPES: Mapping[DataModel, tuple[str, ...]] = {
    QUEUE: (QUORUM, CLASSIC, MIRRORED),
    OUTPUT: (QUORUM, CLASSIC),
    LOG: (STREAM,),
}

_ARGUMENTS = {
    "message-ttl": "x-message-ttl",
    "max-length": "x-max-length",
    "delivery-limit": "x-delivery-limit",
    "priorities": "x-max-priority",
}
"""The argument for each setting that is a number."""

_SERVED = ("running", "idle", "live")
_NOT_MIRRORED_SINCE = (4, 0)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One queue or stream.

    Attributes:
        name: its name.
        place: the partition that it stores.
        arguments: its `x-` arguments.
    """

    name: str
    place: Place
    arguments: dict[str, Any]


def check_types(declared: Declared) -> None:
    """Reject types of queues that a release does not have.

    Raises:
        BadInput: names the key and the remedy.
    """
    if parse_version(declared.options.version) >= _NOT_MIRRORED_SINCE:
        if any(topic.kind == MIRRORED for topic in declared.topics):
            raise BadInput("workload.type: mirrored queues ended with RabbitMQ 3; set cluster.version: 3.10.8")
        if any(name.startswith("ha-") for name in declared.options.policy):
            raise BadInput(
                "cluster.policy: mirrored queues (ha-...) ended with RabbitMQ 3; set cluster.version: 3.10.8"
            )


def type_of(declared: Declared) -> str:
    """Return the type of the workload's queues."""
    return next((topic.kind for topic in declared.topics), "")


def declarations(topic: Topic) -> Sequence[Declaration]:
    """Return the queues or streams of a topic."""
    if topic.model is LOG:
        arguments = {"x-queue-type": STREAM, "x-initial-cluster-size": topic.replication}
        return [Declaration(stream_name(*place), place, arguments) for place in topic.places]
    settings, place = dict(topic.settings), (topic.name, 0)
    if "unrouted" in settings:
        return []
    queue = Declaration(topic.name, place, {**_type_arguments(topic), **_arguments(topic, settings)})
    if "delay" not in settings:
        return [queue]
    waits = {"x-message-ttl": settings["delay"], **_dead_letters_to(topic.name)}
    return [queue, Declaration(topic.name + DELAYED, place, {**_type_arguments(topic), **waits})]


def mirroring(topic: Topic) -> dict[str, Any]:
    """Return the policy by which a topic's queue is mirrored, unless the scenario has another one."""
    if topic.kind != MIRRORED:
        return {}
    return {"ha-mode": "exactly", "ha-params": topic.replication, "ha-sync-mode": "automatic"}


def _arguments(topic: Topic, settings: Mapping[str, int]) -> dict[str, Any]:
    arguments: dict[str, Any] = {_ARGUMENTS[name]: settings[name] for name in settings.keys() & _ARGUMENTS.keys()}
    if topic.kind == QUORUM:
        arguments.pop("x-max-priority", None)  # its priorities need no declaration, and it refuses one
    if "single-active" in settings:
        arguments["x-single-active-consumer"] = True
    return {**arguments, **(_dead_letters_to(topic.name + DEAD) if "dead-letters" in settings else {})}


def _dead_letters_to(queue: str) -> dict[str, Any]:
    return {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}


def _type_arguments(topic: Topic) -> dict[str, Any]:
    arguments: dict[str, Any] = {"x-queue-type": QUORUM if topic.kind == QUORUM else CLASSIC}
    if topic.kind == QUORUM:
        arguments["x-quorum-initial-group-size"] = topic.replication
    return arguments


def leader_of(info: Mapping[str, Any]) -> str:
    """Return the Erlang node of a queue's leader, by what a node tells of it; empty if there is none.

    Releases before 4.0 name it only as the queue's node, as they do of classic queues.
    """
    return str(info.get("leader") or info.get("node") or "")


def online_of(info: Mapping[str, Any]) -> Sequence[str]:
    """Return the Erlang nodes of the members of a queue or stream that take part in new writes, by what a node tells of
    it: of a mirrored queue, its leader and the mirrors that are synchronised."""
    if info.get("type") in (QUORUM, STREAM):
        return list(info.get("online", ()))
    served = [info["node"]] if info.get("state", "running") in _SERVED else []
    return [*served, *info.get("synchronised_slave_nodes", ())]


def lacks(name: str, info: Mapping[str, Any]) -> str:
    """Return what a queue or stream lacks, by what a node tells of it; empty if all its members are there."""
    if info.get("type") in (QUORUM, STREAM):
        members, online = set(info.get("members", ())), set(info.get("online", ()))
        if not leader_of(info) or members != online:
            return f"{name} has the members {sorted(online)} of {sorted(members)} online"
    elif info.get("state") not in _SERVED:
        return f"{name} is {info.get('state')}"
    return ""
