"""What name servers, brokers and controllers are asked and told, one server at a time.

Requests and their fields: `org.apache.rocketmq.remoting.protocol` of RocketMQ 5.5, `RequestCode` and package `header`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from chaoskit.contract.systems.service import ServiceError
from clusters.rocketmq.remoting import RocketRefused, ask

Server = tuple[str, int]
"""Address and port."""

Answer = TypeVar("Answer")

_CREATE_TOPIC, _DELETE_TOPIC, _FORGET_TOPIC, _TOPIC_CONFIG = 17, 215, 216, 351
_CREATE_GROUP, _DELETE_GROUP = 200, 207
_ROUTE = 105
_BROKER_CONFIG, _RUNTIME, _CLUSTER, _HA_STATUS = 26, 28, 106, 907
_CONTROLLER_METADATA, _SYNC_STATE = 1005, 1006
_NO_SUCH_TOPIC = 17
_READ_AND_WRITE = 6


@dataclass(frozen=True, slots=True)
class Copying:
    """Who copies a broker's log, as it tells itself.

    Attributes:
        is_master: whether it takes messages.
        in_sync: addresses of the slaves that are connected to it, and not far behind.
    """

    is_master: bool
    in_sync: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Elected:
    """The master of a group of brokers, as a controller tells.

    Attributes:
        master: its address; empty if there is none.
        epoch: the epoch of its election.
        in_sync: addresses of the brokers that have all that was acknowledged, of which one can be elected.
    """

    master: str
    epoch: int
    in_sync: tuple[str, ...]


def create_topic(broker: Server, topic: str, queues: int, attributes: str, timeout_s: float) -> None:
    """Create a topic on a master, or change it; raises like `ask`.

    Args:
        broker: the master.
        topic: its name.
        queues: number of its queues on this broker.
        attributes: such as `+message.type=FIFO`; empty: none.
        timeout_s: see `ask`.
    """
    fields = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": _READ_AND_WRITE,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
        "attributes": attributes,
    }
    ask(broker, _CREATE_TOPIC, timeout_s, fields)


def has_topic(broker: Server, topic: str, timeout_s: float) -> bool:
    """Return whether a broker knows a topic; raises like `ask`."""
    return _knows(broker, _TOPIC_CONFIG, topic, timeout_s)


def is_routed(name_server: Server, topic: str, timeout_s: float) -> bool:
    """Return whether a name server knows a master that has a topic; raises like `ask`."""
    return _knows(name_server, _ROUTE, topic, timeout_s)


def delete_topic(broker: Server, topic: str, timeout_s: float) -> None:
    """Delete a topic on a broker; raises like `ask`."""
    ask(broker, _DELETE_TOPIC, timeout_s, {"topic": topic})


def forget_topic(name_server: Server, topic: str, timeout_s: float) -> None:
    """Have a name server forget where a topic is; raises like `ask`."""
    ask(name_server, _FORGET_TOPIC, timeout_s, {"topic": topic})


def create_group(
    broker: Server, group: str, timeout_s: float, *, ordered: bool = False, retries: int | None = None
) -> None:
    """Create a group of consumers on a master, or change it; raises like `ask`.

    Args:
        broker: the master.
        group: its name.
        timeout_s: see `ask`.
        ordered: whether it gets messages of a queue one after the other.
        retries: how often a message comes again before it goes to the dead letters; None: RocketMQ's default.
    """
    settings = {"groupName": group, "consumeMessageOrderly": ordered}
    limited = {} if retries is None else {"retryMaxTimes": retries}
    ask(broker, _CREATE_GROUP, timeout_s, body=json.dumps({**settings, **limited}).encode())


def delete_group(broker: Server, group: str, timeout_s: float) -> None:
    """Delete a group of consumers on a broker; raises like `ask`."""
    ask(broker, _DELETE_GROUP, timeout_s, {"groupName": group, "cleanOffset": True})


def ask_master(brokers: Sequence[Server], question: Callable[[Server], Answer], timeout_s: float) -> Answer:
    """Return what the master among some brokers tells.

    Args:
        brokers: of one group.
        question: asks it; raises like `ask`.
        timeout_s: of each broker.

    Raises:
        ServiceError: there is none, or it did not tell.
    """
    why = "none of its brokers is a master"
    for broker in brokers:
        try:
            if copying(broker, timeout_s).is_master:
                return question(broker)
        except (OSError, ServiceError) as error:
            why = str(error)
    raise ServiceError(why)


def timer_late_s(broker: Server, timeout_s: float) -> int:
    """Return how many seconds late a broker delivers what waits for its time; raises like `ask`."""
    return int(_runtime(broker, timeout_s).get("timerReadBehind", 0))


def check_dispatched(master: Server, timeout_s: float) -> None:
    """Check that all of a master's log is in its queues.

    With `allAckInSyncStateSet` it shows only what all brokers of its sync-state set have, and nothing new while one of
    them is not connected (`AutoSwitchHAService.computeConfirmOffset`). A slave may have more than its master: it kept
    more at a power cut.

    Raises:
        ServiceError: some is in no queue yet; and like `ask`.
    """
    behind = int(_runtime(master, timeout_s).get("dispatchBehindBytes", 0))
    copying = ask(master, _HA_STATUS, timeout_s).content()
    lacking = [connection["diff"] for connection in copying["haConnectionInfo"] if connection["inSync"]]
    if behind or copying["inSyncSlaveNums"] > len(lacking) or any(diff > 0 for diff in lacking):
        raise ServiceError("some of its log is in no queue yet")


def settings_of(broker: Server, timeout_s: float) -> dict[str, str]:
    """Return the settings of a broker that are in effect; raises like `ask`."""
    lines = ask(broker, _BROKER_CONFIG, timeout_s).body.decode().splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, separator, value in pairs if separator}


def registered(name_server: Server, timeout_s: float) -> set[str]:
    """Return the addresses, with ports, of the brokers that a name server knows; raises like `ask`."""
    cluster_info = ask(name_server, _CLUSTER, timeout_s).content()
    return {address for group in cluster_info["brokerAddrTable"].values() for address in group["brokerAddrs"].values()}


def copying(broker: Server, timeout_s: float) -> Copying:
    """Return who copies a broker's log; raises like `ask`."""
    status = ask(broker, _HA_STATUS, timeout_s).content()
    connected = [connection["addr"] for connection in status["haConnectionInfo"] if connection["inSync"]]
    return Copying(bool(status["master"]), tuple(_host(address) for address in connected))


def leading_controller(controller: Server, timeout_s: float) -> str:
    """Return the address of the controller that leads, as one tells; empty if there is none; raises like `ask`."""
    fields = ask(controller, _CONTROLLER_METADATA, timeout_s).fields
    return _host(fields.get("controllerLeaderAddress") or "")


def elected(controller: Server, group: str, timeout_s: float) -> Elected | None:
    """Return the master of a group of brokers, as a controller tells; None if it does not know; raises like `ask`."""
    sync_states = ask(controller, _SYNC_STATE, timeout_s, body=json.dumps([group]).encode()).content()
    replicas = sync_states["replicasInfoTable"].get(group)
    if replicas is None:
        return None
    in_sync = tuple(_host(replica["brokerAddress"]) for replica in replicas["inSyncReplicas"])
    return Elected(_host(replicas.get("masterAddress") or ""), int(replicas.get("masterEpoch") or 0), in_sync)


def _knows(server: Server, request: int, topic: str, timeout_s: float) -> bool:
    try:
        ask(server, request, timeout_s, {"topic": topic})
    except RocketRefused as refusal:
        if refusal.code != _NO_SUCH_TOPIC:
            raise
        return False
    return True


def _runtime(broker: Server, timeout_s: float) -> dict[str, str]:
    table: dict[str, str] = ask(broker, _RUNTIME, timeout_s).content()["table"]
    return table


def _host(address: str) -> str:
    return address.strip("/").rpartition(":")[0]
