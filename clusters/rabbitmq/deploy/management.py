"""RabbitMQ's management API over HTTP, from any node that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from chaoskit.contract.systems.service import ServiceError
from clusters.rabbitmq.connection import Login

_NOT_FOUND = 404
_TIMEOUT_S = 5
_QUICK_S = 1.0


class RabbitRefused(ServiceError):
    """A node answered with an error."""


class Management:
    """Sends each request to the nodes, one after the other, until one answers.

    Args:
        urls: addresses of the nodes, such as `http://10.0.0.1:15672`.
        login: who asks.
    """

    def __init__(self, urls: Sequence[str], login: Login) -> None:
        self._urls = tuple(urls)
        self._vhost = quote(login.vhost, safe="")
        # No connection is kept: a request on a connection to an unreachable node would block.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(trust_env=False, limits=limits, auth=login[:2], verify=login.context() or False)

    def running(self) -> list[str]:
        """Return the names of the Erlang nodes that run, as one of them sees it."""
        return [node["name"] for node in self._ask("GET", "/api/nodes") if node.get("running")]

    def node(self) -> str:
        """Return the name of the Erlang node that answers."""
        return str(self._ask("GET", "/api/overview")["node"])

    def release(self) -> str:
        """Return the release that the node runs that answers."""
        return str(self._ask("GET", "/api/overview")["rabbitmq_version"])

    def feature_flags(self) -> dict[str, str]:
        """Return the states of the feature flags by name."""
        return {flag["name"]: flag["state"] for flag in self._ask("GET", "/api/feature-flags") or []}

    def queues(self) -> list[str]:
        """Return the names of all queues and streams."""
        return [queue["name"] for queue in self._ask("GET", f"/api/queues/{self._vhost}?columns=name") or []]

    def connections(self) -> list[dict[str, Any]]:
        """Return what is told about each connection of a client."""
        connections: list[dict[str, Any]] = self._ask("GET", "/api/connections") or []
        return connections

    def declare(self, name: str, node: str, arguments: Mapping[str, Any]) -> None:
        """Declare a durable queue.

        Args:
            name: its name.
            node: the Erlang node that should hold it, or lead it.
            arguments: its `x-` arguments.
        """
        body = {"durable": True, "arguments": dict(arguments), "node": node}
        self._ask("PUT", self._path_of(name), body)

    def declare_exchange(self, name: str, kind: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Declare a durable exchange of a type."""
        body = {"type": kind, "durable": True, "arguments": dict(arguments or {})}
        self._ask("PUT", f"/api/exchanges/{self._vhost}/{quote(name, safe='')}", body)

    def bind(self, exchange: str, queue: str, key: str, arguments: Mapping[str, Any]) -> None:
        """Bind a queue to an exchange."""
        path = f"/api/bindings/{self._vhost}/e/{quote(exchange, safe='')}/q/{quote(queue, safe='')}"
        self._ask("POST", path, {"routing_key": key, "arguments": dict(arguments)})

    def delete(self, name: str) -> None:
        """Delete a queue, if it exists."""
        self._ask("DELETE", self._path_of(name))

    def set_policy(self, definition: Mapping[str, Any]) -> None:
        """Set a policy for all queues."""
        body = {"pattern": ".*", "definition": dict(definition), "apply-to": "queues"}
        self._ask("PUT", f"/api/policies/{self._vhost}/chaoskit", body)

    def queue(self, name: str) -> dict[str, Any] | None:
        """Return what a node tells about a queue; None if it does not exist."""
        queue: dict[str, Any] | None = self._ask("GET", self._path_of(name))
        return queue

    def recorded_state(self, name: str) -> str | None:
        """Return the state in a queue's record, such as `live`; None if there is none."""
        record = self._ask("GET", f"{self._path_of(name)}?disable_stats=true&enable_queue_totals=true") or {}
        return record.get("state")

    def raft_states(self, name: str) -> dict[str, str]:
        """Return the Raft state of each member of a quorum queue, by Erlang node, such as `leader` or `noproc`; empty
        if the release does not say it."""
        members = self._ask("GET", f"/api/queues/quorum/{self._vhost}/{quote(name, safe='')}/status") or []
        return {member["Node Name"]: member["Raft State"] for member in members}

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _path_of(self, queue: str) -> str:
        return f"/api/queues/{self._vhost}/{quote(queue, safe='')}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of the first node that answers; None if there is no such thing.

        Raises:
            Refused: a node refused it.
            ServiceError: no node answers.
        """
        why = ""
        for url in self._urls:
            timeout = httpx.Timeout(_TIMEOUT_S, connect=_QUICK_S)
            try:
                response = self._client.request(method, f"{url}{path}", json=body, timeout=timeout)
            except httpx.HTTPError as error:
                why = f"{url}: {type(error).__name__}: {error}"
                continue
            if response.status_code == _NOT_FOUND:
                return None
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                why = f"{url}: status {response.status_code}"
                continue
            if response.is_error:
                raise RabbitRefused(f"RabbitMQ refused {method} {path}: {response.text.strip()[:300]}")
            return response.json() if response.content else None
        raise ServiceError(f"no node of RabbitMQ answers at its management API ({why})")
