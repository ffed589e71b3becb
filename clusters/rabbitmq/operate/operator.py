"""Operations on a running RabbitMQ cluster: transfers of leadership, grow and shrink, removal of nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.rabbitmq.deploy.control import RabbitControl
from clusters.rabbitmq.deploy.nodes import SERVICE
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.queues import MIRRORED, QUORUM, STREAM, leader_of
from clusters.rabbitmq.settings import home_folder, host_name, node_name

_MODULES = {
    QUORUM: "rabbit_quorum_queue",
    STREAM: "rabbit_stream_queue",
    MIRRORED: "rabbit_mirror_queue_misc",
}
"""The modules that transfer the leadership of a type, as `rabbitmq-queues rebalance` has them do."""

_MEMBERS = {
    QUORUM: ("rabbitmq-queues", "add_member", "delete_member"),
    STREAM: ("rabbitmq-streams", "add_replica", "delete_replica"),
}
"""The tool and its commands that change the members of a type."""

_TRANSFER = """
{{ok, Queue}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"{name}">>)),
{{migrated, Node}} = {module}:transfer_leadership(Queue, '{node}'),
Node.
"""
"""Its value is the node that leads. It may be the same as before: of a stream the member with the latest data is
preferred, which under load is often the one that led."""

_TRANSFERS_MAX = 20

_IN_SYNC_S = 60
_GONE_S = 20
_POLL_S = 0.2


class RabbitOperator:
    """The powers `Leadership`, `Reassignment` and `Decommissioning` of `chaoskit.contract.systems.service`.

    Args:
        hosts: the hosts.
        stored: the queues and streams of the trial.
        control: the command line tools.
    """

    def __init__(self, hosts: Sequence[ServiceHost], stored: StoredQueues, control: RabbitControl) -> None:
        self._hosts = hosts
        self._stored = stored
        self._control = control
        self._moved: dict[str, dict[str, str | None]] = {}
        self._removed: set[str] = set()

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        return tuple(self._text(name) for name in self._led_by(host))

    def give_up_leadership(self, host: ServiceHost) -> None:
        for name in self._led_by(host):
            info = self._stored.told(name)
            kind = MIRRORED if info.get("slave_nodes") else info.get("type")
            others = [node for node in info.get("online", info.get("slave_nodes", ())) if host_name(node) != host.name]
            if kind not in _MODULES or not others:
                raise ServiceError(f"{name} ({info.get('type')}) has no other member to lead it")
            self._transfer(name, _MODULES[kind], node_name(host.name), others)

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        return tuple(self._text(name) for name in self._stored_on(host))

    def drain(self, host: ServiceHost) -> None:
        self._moved[host.name] = {}
        for name in self._stored_on(host):
            info = self._stored.told(name)
            held = {host_name(node) for node in info.get("members", ())}
            free = [host.name for host in self._hosts if host.name not in {*held, *self._moved, *self._removed}]
            if info.get("type") not in _MEMBERS:
                raise ServiceError(f"{name}: a classic queue cannot be moved to another node")
            if not free:
                raise ServiceError(f"{name} has a member on every host: add one (cluster.hosts)")
            # A queue starts its search for a new home elsewhere, so that one host does not get them all.
            chosen = free[len(self._moved[host.name]) % len(free)]
            self._add(name, str(info["type"]), chosen)
            self._remove(name, str(info["type"]), host.name)
            self._moved[host.name][name] = chosen

    def shed(self, host: ServiceHost) -> None:
        self._moved[host.name] = {}
        for name in self._stored_on(host):
            info = self._stored.told(name)
            if info.get("type") not in _MEMBERS:
                raise ServiceError(f"{name}: a classic queue has no members that could be removed")
            if len(info.get("members", ())) == 1:
                raise ServiceError(f"{name} has its only member on {host.name}")
            self._moved[host.name][name] = None
            self._remove(name, str(info["type"]), host.name)

    def refill(self, host: ServiceHost) -> None:
        moved = self._moved.get(host.name, {})
        for name, chosen in list(moved.items()):
            kind = str(self._stored.told(name)["type"])
            if not self._has(name, kind, host.name):
                self._add(name, kind, host.name)
            if chosen is not None and self._has(name, kind, chosen):
                self._remove(name, kind, chosen)
            del moved[name]
        self._moved.pop(host.name, None)

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        return self.replicas_on(host)

    def decommission(self, host: ServiceHost) -> None:
        self.drain(host)
        self._moved.pop(host.name)
        self._removed.add(host.name)
        host.signal(SERVICE, "TERM")
        node = node_name(host.name)
        if why := wait_while(lambda: self._still_known(host), _GONE_S, every_s=_POLL_S):
            raise ServiceError(f"{node} could not be removed: {why}")

    def recommission(self, host: ServiceHost) -> None:
        host.run(["rm", "-rf", home_folder(host.data_dir)])
        self._removed.discard(host.name)

    def _transfer(self, name: str, module: str, node: str, others: Sequence[str]) -> None:
        """Transfer the leadership of a queue to one of the other nodes, which are tried in turn."""
        for attempt in range(_TRANSFERS_MAX):
            wanted = _TRANSFER.format(name=name, module=module, node=others[attempt % len(others)])
            if self._control.evaluate(wanted).strip("'") != node:
                return
        raise ServiceError(f"{name}: {node} was elected again {_TRANSFERS_MAX} times")

    def _still_known(self, host: ServiceHost) -> str:
        """Have the cluster forget a node that was stopped; return why that failed."""
        try:
            self._control.run("rabbitmqctl", "forget_cluster_node", node_name(host.name), without=[host])
        except ServiceError as error:
            return str(error)
        return ""

    def _add(self, name: str, kind: str, host: str) -> None:
        """Add a member and wait until it is in sync."""
        tool, add, _ = _MEMBERS[kind]
        self._control.run(tool, add, name, node_name(host))
        if why := wait_while(lambda: self._lacks(name, kind, host), _IN_SYNC_S, every_s=_POLL_S):
            raise ServiceError(why)

    def _remove(self, name: str, kind: str, host: str) -> None:
        """Remove a member and wait until it is gone."""
        tool, _, delete = _MEMBERS[kind]
        self._control.run(tool, delete, name, node_name(host))
        if why := wait_while(lambda: self._has(name, kind, host), _IN_SYNC_S, every_s=_POLL_S):
            raise ServiceError(why)

    def _has(self, name: str, kind: str, host: str) -> str:
        members = self._replicas(name) if kind == STREAM else self._stored.told(name).get("members", ())
        return f"{name} still has a member on {host}" if node_name(host) in members else ""

    def _lacks(self, name: str, kind: str, host: str) -> str:
        online = self._replicas(name) if kind == STREAM else self._stored.told(name).get("online", ())
        return "" if node_name(host) in online else f"{name} has no member on {host} after {_IN_SYNC_S} s"

    def _replicas(self, name: str) -> list[str]:
        """Return the nodes with a replica of a stream. The management API may tell of a change a minute later."""
        replicas = json.loads(self._control.run("rabbitmq-streams", "stream_status", name, "--formatter", "json"))
        return [replica["node"] for replica in replicas]

    def _led_by(self, host: ServiceHost) -> list[str]:
        return [name for name in self._stored.places if leader_of(self._stored.told(name)) == node_name(host.name)]

    def _stored_on(self, host: ServiceHost) -> list[str]:
        return [name for name in self._stored.places if host.name in self._holders(name)]

    def _holders(self, name: str) -> Sequence[str]:
        if self._stored.told(name).get("type") == STREAM:
            return [host_name(node) for node in self._replicas(name)]
        placed = self._stored.placed(name)
        return () if placed is None else placed.holders

    def _text(self, name: str) -> str:
        topic, number = self._stored.places[name]
        return f"{topic}/{number}"
