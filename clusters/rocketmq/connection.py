"""What clients are told of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME_SERVERS, BROKERS, PROXIES, NAMESPACE, CLASSPATH = "name_servers", "brokers", "proxies", "namespace", "classpath"
"""Addresses and ports of the name servers; by group, the addresses of its brokers; addresses and ports of the proxies;
the start of the names of topics and groups; class path of the relay."""

POP_CLASSPATH = "pop_classpath"
"""Class path of the relay of the client by gRPC; empty without proxies."""

ASKED_MS = "asked_ms"
"""Within how many ms a broker has asked how a transaction ended, if nobody told it."""

DELAYS, ORDERED = "delays", "ordered"
"""By queue, how long its messages wait, ms; the queues that keep the order of each producer's messages."""


def group_name(connection: Mapping[str, Any], number: int) -> str:
    """Return the name of the consumer group with a number."""
    return f"{connection[NAMESPACE]}group-{number}"
