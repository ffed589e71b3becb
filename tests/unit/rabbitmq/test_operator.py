"""What operators do to RabbitMQ, and who holds a role, by what nodes tell; real clusters: `rabbitmq/membership`."""

from __future__ import annotations

from typing import Any, cast

import pytest

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.rabbitmq.deploy.control import RabbitControl
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.operate.operator import RabbitOperator
from clusters.rabbitmq.roles import Coordinators, RabbitRoles
from clusters.rabbitmq.settings import host_name

PLACE = ("queue-0", 0)


class _Host:
    def __init__(self, name: str) -> None:
        self.name = name


class _Nodes:
    """Stands for management API and command line tools: a queue with members."""

    def __init__(self, kind: str, *members: str) -> None:
        self.told: dict[str, Any] = {"type": kind, "leader": f"rabbit@{members[0]}", "node": f"rabbit@{members[0]}"}
        self.told["members"] = [f"rabbit@{member}" for member in members]
        self.commands: list[str] = []
        self.answers = [""]

    def queue(self, name: str) -> dict[str, Any] | None:
        return {**self.told, "online": self.told["members"]} if name == "queue-0" else None

    def connections(self) -> list[dict[str, Any]]:
        return [{"node": "rabbit@n2"}, {"node": "rabbit@n3"}, {"node": "rabbit@n3"}, {}]

    def run(self, tool: str, *arguments: str) -> str:
        self.commands.append(" ".join([tool, *arguments]))
        if arguments[0].startswith("add_"):
            self.told["members"].append(arguments[2])
        if arguments[0].startswith("delete_"):
            self.told["members"].remove(arguments[2])
        return ""

    def evaluate(self, expression: str) -> str:
        self.commands.append(expression)
        return self.answers.pop(0)


def _stored(nodes: _Nodes) -> StoredQueues:
    stored = StoredQueues(cast("Management", nodes), host_name)
    stored.places["queue-0"] = PLACE
    return stored


def _operator(nodes: _Nodes, hosts: int) -> tuple[RabbitOperator, list[ServiceHost]]:
    made = [cast("ServiceHost", _Host(f"n{number}")) for number in range(1, hosts + 1)]
    return RabbitOperator(made, _stored(nodes), cast("RabbitControl", nodes)), made


def _roles(nodes: _Nodes, metadata: str = "khepri") -> RabbitRoles:
    return RabbitRoles(
        _stored(nodes), cast("Management", nodes), host_name, Coordinators(cast("RabbitControl", nodes), metadata)
    )


def test_a_member_is_moved_to_the_host_without_one_and_back() -> None:
    nodes = _Nodes("quorum", "n1", "n2", "n3")
    operator, hosts = _operator(nodes, 4)

    operator.drain(hosts[0])
    assert operator.replicas_on(hosts[0]) == ()
    assert operator.replicas_on(hosts[3]) == ("queue-0/0",)
    operator.refill(hosts[0])

    assert nodes.commands == [
        "rabbitmq-queues add_member queue-0 rabbit@n4",
        "rabbitmq-queues delete_member queue-0 rabbit@n1",
        "rabbitmq-queues add_member queue-0 rabbit@n1",
        "rabbitmq-queues delete_member queue-0 rabbit@n4",
    ]


def test_a_member_is_removed_without_replacement_and_added_again() -> None:
    nodes = _Nodes("quorum", "n1", "n2", "n3")
    operator, hosts = _operator(nodes, 3)

    operator.shed(hosts[0])
    assert operator.replicas_on(hosts[0]) == ()
    operator.refill(hosts[0])

    assert operator.replicas_on(hosts[0]) == ("queue-0/0",)
    assert nodes.commands == [
        "rabbitmq-queues delete_member queue-0 rabbit@n1",
        "rabbitmq-queues add_member queue-0 rabbit@n1",
    ]


@pytest.mark.parametrize(
    ("kind", "why"), [("quorum", "has its only member on n1"), ("classic", "a classic queue has no members")]
)
def test_the_only_member_is_not_removed(kind: str, why: str) -> None:
    operator, hosts = _operator(_Nodes(kind, "n1"), 3)

    with pytest.raises(ServiceError, match=why):
        operator.shed(hosts[0])


@pytest.mark.parametrize(
    ("kind", "hosts", "why"),
    [("quorum", 3, "has a member on every host: add one"), ("classic", 4, "a classic queue cannot be moved")],
)
def test_what_cannot_be_moved_is_refused(kind: str, hosts: int, why: str) -> None:
    operator, made = _operator(_Nodes(kind, "n1", "n2", "n3"), hosts)

    with pytest.raises(ServiceError, match=why):
        operator.drain(made[0])


def test_another_member_is_told_to_lead() -> None:
    nodes = _Nodes("stream", "n1", "n2")
    nodes.answers = ["'rabbit@n1'", "'rabbit@n2'"]
    operator, hosts = _operator(nodes, 2)

    assert operator.led_by(hosts[0]) == ("queue-0/0",)
    operator.give_up_leadership(hosts[0])

    assert len(nodes.commands) == 2, "the first time the same node was elected again"
    assert "rabbit_stream_queue:transfer_leadership(Queue, 'rabbit@n2')" in nodes.commands[1]


def test_a_queue_on_one_node_has_no_other_leader() -> None:
    operator, hosts = _operator(_Nodes("classic", "n1"), 2)

    with pytest.raises(ServiceError, match="no other member"):
        operator.give_up_leadership(hosts[0])


def test_roles_are_held_by_those_that_nodes_tell() -> None:
    nodes = _Nodes("quorum", "n2", "n1", "n3")
    nodes.told["consumer_details"] = [
        {"activity_status": "waiting", "active": False, "channel_details": {"node": "rabbit@n1"}},
        {"activity_status": "single_active", "active": True, "channel_details": {"node": "rabbit@n3"}},
    ]
    nodes.answers = ["{rabbitmq_metadata,'rabbit@n1'}"]
    hosts = {role: _roles(nodes).find(role, PLACE) for role in ("leader", "followers", "members", "connected")}

    assert hosts == {
        "leader": ("n2",),
        "followers": ("n1", "n3"),
        "members": ("n2", "n1", "n3"),
        "connected": ("n3", "n2"),
    }
    assert _roles(nodes).find("active-consumer", PLACE) == ("n3",)
    assert _roles(nodes).find("coordinator", None) == ("n1",)


def test_mnesia_has_no_coordinator() -> None:
    with pytest.raises(ServiceError, match=r"set cluster\.metadata: khepri"):
        _roles(_Nodes("quorum", "n1"), "mnesia").find("coordinator", PLACE)


def test_a_queue_that_nobody_consumes_has_no_active_consumer() -> None:
    with pytest.raises(ServiceError, match="no active consumer"):
        _roles(_Nodes("quorum", "n1")).find("active-consumer", PLACE)
