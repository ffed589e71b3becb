"""Zenoh's configuration of clients and routers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import zenoh

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import MILLISECOND
from clusters.common.own_network import own_network
from clusters.common.properties import Scalar
from clusters.zenoh.settings import CONFIG, LEASE_NS, LINK, MODE, PEERS, ROUTERS, ZenohOptions

PORT = 7447
_AGAIN_MS = 200
"""Time between two attempts to connect. Zenoh's default is one second, growing to four."""

Configuration = Mapping[str, Any]


def client(connection: Mapping[str, Any], routers: Sequence[str]) -> Configuration:
    """Return the configuration of a client.

    Args:
        connection: what clients are told.
        routers: addresses of the routers; the first one that answers is its own.
    """
    if connection[MODE] == "router":
        scouting: Configuration = {"multicast": {"enabled": False}}
        own = {"mode": "client", "connect": _connect(connection[LINK], routers), "scouting": scouting}
    else:
        address, interface = own_network(connection[PEERS])
        scouting = {"multicast": {"interface": interface}}
        own = {"mode": "peer", "listen": {"endpoints": [f"{connection[LINK]}/{address}:0"]}, "scouting": scouting}
    return {**own, "transport": _transport(connection[LEASE_NS])}


def router(options: ZenohOptions, address: str, others: Sequence[str]) -> Configuration:
    """Return the configuration of a router.

    Args:
        options: of the network.
        address: its own address.
        others: addresses of the routers to which it connects.
    """
    return {
        "mode": "router",
        "listen": {"endpoints": [f"{options.link}/{address}:{PORT}"]},
        "connect": _connect(options.link, others),
        "scouting": {"multicast": {"enabled": False}},
        "transport": _transport(options.lease),
    }


def connection_of(options: ZenohOptions, peers: Sequence[str], routers: Sequence[str]) -> dict[str, Any]:
    """Return what clients are told."""
    return {
        MODE: options.mode,
        PEERS: list(peers),
        ROUTERS: list(routers),
        LINK: options.link,
        LEASE_NS: options.lease,
        CONFIG: dict(options.config),
    }


def built(configuration: Configuration, settings: Mapping[str, Scalar]) -> zenoh.Config:
    """Return a configuration with other settings, by their paths.

    Raises:
        BadInput: Zenoh does not take a setting; names its path.
    """
    config = zenoh.Config.from_json5(json.dumps(configuration))
    for path, value in settings.items():
        try:
            config.insert_json5(path, json.dumps(value))
        except zenoh.ZError as error:
            raise BadInput(
                f"cluster.config.{path}: Zenoh does not take {value!r} ({said(error)}); write a path of its "
                "configuration with its value, such as transport/link/tx/keep_alive: 8"
            ) from error
    return config


def said(error: zenoh.ZError) -> str:
    """Return what an error says, without the place in Zenoh's source."""
    return str(error).partition(" at /")[0]


def _connect(link: str, routers: Sequence[str]) -> Configuration:
    retry = {"period_init_ms": _AGAIN_MS, "period_max_ms": _AGAIN_MS}
    return {"endpoints": [f"{link}/{address}:{PORT}" for address in routers], "retry": retry}


def _transport(lease_ns: int) -> Configuration:
    """Return what holds for all links.

    Hosts stand for machines, which share no memory. By default, Zenoh hands messages of 3 KB or more over in the memory
    of this machine, past the network and its faults.
    """
    return {"link": {"tx": {"lease": lease_ns // MILLISECOND}}, "shared_memory": {"enabled": False}}
