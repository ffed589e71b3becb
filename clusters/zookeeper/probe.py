"""Probes ZooKeeper servers with four-letter words: whether one answers, its mode, and which one leads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.common.framing import connect
from clusters.zookeeper.server import ZOOKEEPER_PORT

TIMEOUT_S = 0.5
"""A running server answers in milliseconds; a paused one must not delay a fault."""


def zookeeper_answers(address: str, timeout_s: float) -> bool:
    """Return whether the server at this address answers in time."""
    try:
        return zookeeper_word(address, "ruok", timeout_s) == "imok"
    except OSError:
        return False


def zookeeper_word(address: str, word: str, timeout_s: float) -> str:
    """Return a server's response to a four-letter word.

    Raises:
        OSError: it does not answer in time.
    """
    with connect(address, ZOOKEEPER_PORT, timeout_s) as connection:
        connection.sendall(word.encode())
        said = b""
        while chunk := connection.recv(1 << 16):
            said += chunk
    return said.decode(errors="replace")


def zookeeper_mode(address: str, timeout_s: float) -> str:
    """Return `leader`, `follower` or `standalone`; empty if the server is currently not part of a quorum.

    Raises:
        OSError: it does not answer in time.
    """
    mode = re.search(r"^Mode: (\w+)$", zookeeper_word(address, "srvr", timeout_s), re.MULTILINE)
    return mode[1] if mode else ""


def zookeeper_modes(servers: Sequence[ServiceHost]) -> list[str]:
    """Return the current mode of each server; empty for one that does not serve."""
    return on_each(servers, _mode)


def zookeeper_leader(servers: Sequence[ServiceHost]) -> tuple[str, ...]:
    """Return the name of the host with the leader.

    Raises:
        ServiceError: there is none.
    """
    modes = zip(servers, zookeeper_modes(servers), strict=True)
    leaders = [host.name for host, mode in modes if mode in ("leader", "standalone")]
    if not leaders:
        raise ServiceError("ZooKeeper currently has no leader")
    return (leaders[0],)


def settings_of(address: str, timeout_s: float) -> dict[str, str]:
    """Return the settings that a server reports.

    Raises:
        OSError: it does not answer in time.
    """
    pairs = (line.partition("=") for line in zookeeper_word(address, "conf", timeout_s).splitlines())
    return {key: value for key, separator, value in pairs if separator}


def _mode(host: ServiceHost) -> str:
    try:
        return zookeeper_mode(host.address, TIMEOUT_S)
    except OSError:
        return ""
