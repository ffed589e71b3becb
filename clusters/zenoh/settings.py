"""The options of a Zenoh network, and the quality of service of its publishers and subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration
from clusters.common.client_settings import checked
from clusters.common.properties import Scalar
from clusters.common.release import installed

PACKAGE = "eclipse-zenoh"
ROLES = ("router",)
MODE, PEERS, ROUTERS, LINK, LEASE_NS, CONFIG = "mode", "peers", "routers", "link", "lease_ns", "config"
"""What clients are told: the options; the addresses of the hosts with clients, and of those with routers."""

BATCH_BYTES = 65_535
"""A message that is longer is sent in fragments (Zenoh's default of transport/link/tx/batch_size)."""

WAIT_BEFORE_CLOSE, WAITS_US = "transport/link/tx/queue/congestion_control/block/wait_before_close", 5_000_000
"""The setting after how many us a link that blocks is closed, and its default."""

WAIT_BEFORE_DROP, WAITS_BEFORE_DROP_US = "transport/link/tx/queue/congestion_control/drop/wait_before_drop", 1_000
"""The setting after how many us a message that finds its queue full is dropped, and its default."""

_OWNED = {
    "mode": "set cluster.mode",
    "connect": "chaoskit sets the addresses of clients and routers",
    "listen": "everybody listens on the network of the lab",
    "scouting": "peers find each other on the network of the lab",
    "transport/link/tx/lease": "set cluster.lease",
    "transport/shared_memory": "hosts of a lab stand for machines, which share no memory",
}
"""Keys of Zenoh's configuration that belong to chaoskit, and what to do instead."""


class ZenohOptions(BaseModel):
    """The options of a Zenoh network.

    Attributes:
        version: the release of Zenoh: that of the installed package.
        mode: `peer`: all hosts are for clients, which talk to each other; `router`: the hosts run routers.
        link: what peers and routers listen with. UDP never sends again.
        lease: how long somebody who is not heard counts as there (Zenoh's transport/link/tx/lease).
        config: other settings, by their paths in Zenoh's configuration, of all clients and routers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = Field(default_factory=partial(installed, PACKAGE))
    mode: Literal["peer", "router"] = "peer"
    link: Literal["tcp", "udp"] = "tcp"
    lease: Annotated[Duration, Field(ge=SECOND)] = 10 * SECOND
    config: dict[str, Scalar] = {}

    @field_validator("config")
    @classmethod
    def _settable(cls, config: dict[str, Scalar]) -> dict[str, Scalar]:
        for path in config:
            for owned, instead in _OWNED.items():
                if path == owned or path.startswith(f"{owned}/"):
                    raise ValueError(f"{path} is set by chaoskit: {instead}; remove it")
        return config


class _ClientSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    qos: Literal["best-effort", "reliable"] = "reliable"


class ZenohPublisherSettings(_ClientSettings):
    """The quality of service of publishers: `workload.producer`.

    Attributes:
        qos: the reliability.
        congestion: what happens to a message that finds the queue of a link full.
        priority: the priority; each has a queue of its own.
        express: whether a message is sent at once, without waiting for others.
        cache: how many messages a publisher keeps of each topic, for subscribers that lack some; 0: none.
        heartbeat: how often a publisher with a cache says what its last message was, if that changed.
    """

    congestion: Literal["drop", "block"] = "drop"
    priority: Literal[
        "real-time", "interactive-high", "interactive-low", "data-high", "data", "data-low", "background"
    ] = "data"
    express: bool = False
    cache: int = Field(default=0, ge=0)
    heartbeat: Annotated[Duration, Field(ge=MILLISECOND)] = 500 * MILLISECOND


class ZenohSubscriberSettings(_ClientSettings):
    """The quality of service of subscribers: `workload.consumer`.

    Attributes:
        qos: Zenoh's subscribers have none of their own: that of the publishers holds.
        recovery: whether a subscriber asks publishers with a cache for what it lacks.
        history: how many messages of each topic a subscriber asks the caches for when it comes.
        wildcard: whether it subscribes once, with the key expression `*`, which matches all topics, and ignores what is
            not the load's.
    """

    recovery: bool = False
    history: int = Field(default=0, ge=0)
    wildcard: bool = False


def publisher_settings(settings: Mapping[str, Any]) -> ZenohPublisherSettings:
    """Return the settings of a producer.

    Raises:
        BadInput: names each that is wrong, below `workload.producer`.
    """
    return checked(ZenohPublisherSettings, "producer", settings)


def subscriber_settings(settings: Mapping[str, Any]) -> ZenohSubscriberSettings:
    """Return the settings of a consumer; see `publisher_settings`."""
    return checked(ZenohSubscriberSettings, "consumer", settings)
