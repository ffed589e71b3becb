"""Pulsar's admin API over HTTP: topics are created and queried at any broker that answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from chaoskit.base.parallel import on_each
from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.deploy.cursor import Cursor, cursor_in
from clusters.pulsar.deploy.subscribed import WatchedSubscription, subscribed_in
from clusters.pulsar.settings import COMPACTION_POLICY, TOPICS, WEB_PORT

Answer = TypeVar("Answer")

_CREATE_TIMEOUT_S = 15
_EARLIEST = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
"""The position before the first message."""


_MARKER, _ABORTED = "X-Pulsar-marker-type", "X-Pulsar-txn-aborted"
"""Headers with which a broker tells of an entry that it was asked for."""

_MISSING = re.compile(r"No such (entry|ledger)", re.IGNORECASE)
"""Bookies answered, and none of them has it."""


_MESSAGE = re.compile(r"^Message: (.+)$", re.MULTILINE)
"""What an unexpected error says above its stack trace."""


class PulsarRefused(ServiceError):
    """A broker answered with an error.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"status {status}: {reason}")
        self.status = status


@dataclass(frozen=True, slots=True)
class TopicState:
    """The state of a partition's log, from its owner.

    Attributes:
        writable: whether its current ledger is open.
        first_ledger: id of its oldest ledger; -1 if it has none.
        ensemble: addresses of the bookies that the current ledger is written to.
        stored: addresses of all bookies that its ledgers are, or were, written to.
    """

    writable: bool
    first_ledger: int
    ensemble: tuple[str, ...]
    stored: frozenset[str] = frozenset()


class Admin:
    """Sends each request to the brokers, one after the other, until one answers."""

    def __init__(self, brokers: Sequence[str]) -> None:
        self._brokers = tuple(brokers)
        # No connection is kept: a request on a connection to an unreachable broker would block.
        self._client = httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    def set_policy(self, name: str, value: Any) -> None:
        """Set a policy of the workload's namespace, named by the last part of its path in the admin API.

        Raises:
            Refused: brokers reject it.
            ServiceError: no broker answers.
        """
        method = "PUT" if name == COMPACTION_POLICY else "POST"
        self._ask(method, f"/admin/v2/namespaces/{TOPICS}/{name}", _CREATE_TIMEOUT_S, value)

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a partitioned topic, unless it exists.

        Raises:
            Refused: brokers reject it.
            ServiceError: no broker answers.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{name}/partitions"
        try:
            self._ask("PUT", path, _CREATE_TIMEOUT_S, partitions)
        except PulsarRefused as refusal:
            if refusal.status != httpx.codes.CONFLICT:
                raise

    def create_subscription(self, topic: str, partition: int, name: str) -> None:
        """Create a subscription of a partition that begins with its first message, unless it exists.

        Raises:
            Refused: brokers reject it.
            ServiceError: no broker answers.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/subscription/{name}"
        try:
            self._ask("PUT", path, _CREATE_TIMEOUT_S, _EARLIEST)
        except PulsarRefused as refusal:
            if refusal.status != httpx.codes.CONFLICT:
                raise

    def backlog(self, topic: str, partition: int, subscription: str, timeout_s: float) -> tuple[int, int]:
        """Return how many entries of a partition a subscription has not acknowledged, and the number of its consumers.

        Raises:
            ServiceError: no broker answers, or the owner does not, or it has no such subscription.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/stats?getPreciseBacklog=true"
        stats = self._ask("GET", path, timeout_s)["subscriptions"].get(subscription)
        if stats is None:
            raise ServiceError(f"{topic}/{partition} has no subscription {subscription}")
        return int(stats["msgBacklog"]), len(stats["consumers"])

    def subscriptions(self, topic: str, partition: int, timeout_s: float) -> dict[str, WatchedSubscription]:
        """Return the subscriptions of a partition by name.

        Raises:
            ServiceError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/stats"
        stats = self._ask("GET", path, timeout_s)["subscriptions"]
        return {name: subscribed_in(subscription) for name, subscription in stats.items()}

    def cursors(self, topic: str, partition: int, timeout_s: float) -> dict[str, Cursor]:
        """Return how far each subscription of a partition has acknowledged, by name.

        Raises:
            ServiceError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/internalStats"
        cursors = self._ask("GET", path, timeout_s).get("cursors") or {}
        return {name: cursor_in(cursor) for name, cursor in cursors.items()}

    def delete_topic(self, name: str) -> None:
        """Delete a partitioned topic and its subscriptions, if it exists.

        Raises:
            Refused: brokers reject it.
            ServiceError: no broker answers.
        """
        try:
            self._ask("DELETE", f"/admin/v2/persistent/{TOPICS}/{name}/partitions?force=true", _CREATE_TIMEOUT_S)
        except PulsarRefused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise

    def state(self, topic: str, partition: int, timeout_s: float, owner: str = "") -> TopicState:
        """Return the state of a partition's log, from its owner.

        Args:
            topic, partition: the partition.
            timeout_s: of each request.
            owner: address of the owner; empty: a broker is asked for it.

        Raises:
            ServiceError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/internalStats?metadata=true"
        stats = self._request("GET", owner, path, timeout_s) if owner else self._ask("GET", path, timeout_s)
        return topic_state(stats)

    def last_message(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int, int] | None:
        """Return ledger, entry and batch index (-1 without a batch) of a partition's last message; None if it is empty.

        Raises:
            ServiceError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/lastMessageId"
        message_id = self._ask("GET", path, timeout_s)
        last = message_id["ledgerId"], message_id["entryId"], message_id.get("batchIndex", -1)
        return None if last[1] < 0 else last

    def entries(self, topic: str, partition: int, timeout_s: float) -> list[tuple[int, int]]:
        """Return the ledgers of a partition's log in order: id, and number of entries up to the last confirmed one.

        Raises:
            ServiceError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/internalStats"
        return ledger_entries(self._ask("GET", path, timeout_s))

    def refusal(self, topic: str, partition: int, ledger: int, entry: int, timeout_s: float) -> str:
        """Return the error with which the owner refuses to read an entry; empty if it reads it.

        Raises:
            ServiceError: it failed for another reason than that bookies do not have the entry.
        """
        where = f"{partition_name(topic, partition)}/ledger/{ledger}/entry/{entry}"
        try:
            self._first(
                lambda broker: self._content("GET", broker, f"/admin/v2/persistent/{TOPICS}/{where}", timeout_s)
            )
        except PulsarRefused as refused:
            if refused.status != httpx.codes.NOT_FOUND and not _MISSING.search(str(refused)):
                raise
            return str(refused)
        return ""

    def is_invisible(self, topic: str, partition: int, ledger: int, entry: int, timeout_s: float) -> bool:
        """Return whether brokers give an entry to nobody: the end of a transaction, or what one sent that was aborted.

        Raises:
            ServiceError: no broker answers, or none can read it.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/ledger/{ledger}/entry/{entry}"
        headers = self._first(lambda broker: self._response("GET", broker, path, timeout_s)).headers
        return _MARKER in headers or headers.get(_ABORTED) == "true"

    def owner(self, topic: str, partition: int, timeout_s: float) -> str:
        """Return the address of the broker that owns a partition; all brokers are asked in parallel.

        Raises:
            ServiceError: no broker knows.
        """

        def ask(broker: str) -> str | None:
            try:
                return self._looked_up(broker, topic, partition, timeout_s)
            except ServiceError:
                return None

        owners = [address for address in on_each(self._brokers, ask) if address]
        if not owners:
            raise ServiceError(f"no broker knows the owner of {topic}/{partition}")
        return max(set(owners), key=owners.count)

    def looked_up(self, topic: str, partition: int, timeout_s: float) -> str:
        """Return the address of the broker that owns a partition, as the first broker that answers knows it.

        Raises:
            ServiceError: no broker knows.
        """
        return self._first(lambda broker: self._looked_up(broker, topic, partition, timeout_s))

    def bundle(self, topic: str, partition: int, timeout_s: float) -> str:
        """Return the range of the namespace bundle that a partition belongs to.

        Raises:
            ServiceError: no broker answers.
        """
        path = f"/lookup/v2/topic/persistent/{TOPICS}/{partition_name(topic, partition)}/bundle"
        return self._first(lambda broker: self._content("GET", broker, path, timeout_s)).decode()

    def unload(self, owner: str, bundle: str, destination: str, timeout_s: float) -> None:
        """Unload a bundle from its owner to a destination broker (its address and HTTP port).

        The leader of the load manager stores the destination and redirects to the owner, which unloads the bundle.

        Raises:
            ServiceError: a broker did not do it.
        """
        path = f"/admin/v2/namespaces/{TOPICS}/{bundle}/unload"
        try:
            leader = self.load_manager_leader(timeout_s)
            self._request("PUT", leader, f"{path}?destinationBroker={destination}", timeout_s, redirected=False)
        except PulsarRefused as answer:
            if answer.status != httpx.codes.TEMPORARY_REDIRECT:
                raise
        else:
            return
        self._request("PUT", owner, path, timeout_s)

    def load_manager_leader(self, timeout_s: float) -> str:
        """Return the address of the broker that assigns topics to brokers.

        Raises:
            ServiceError: no broker knows.
        """
        leader = self._ask("GET", "/admin/v2/brokers/leaderBroker", timeout_s)
        return str(urlsplit(leader["serviceUrl"]).hostname)

    def configurations(self, timeout_s: float) -> dict[str, dict[str, str]]:
        """Return the configuration of each broker, by its address.

        Raises:
            ServiceError: a broker does not answer.
        """
        path = "/admin/v2/brokers/configuration/runtime"
        return {broker: self._request("GET", broker, path, timeout_s) for broker in self._brokers}

    def _looked_up(self, broker: str, topic: str, partition: int, timeout_s: float) -> str:
        path = f"/lookup/v2/topic/persistent/{TOPICS}/{partition_name(topic, partition)}"
        answer = self._request("GET", broker, path, timeout_s)
        url = answer.get("brokerUrl") if isinstance(answer, dict) else None
        if address := urlsplit(str(url or "")).hostname:
            return address
        raise ServiceError(f"broker {broker} does not know the owner of {topic}/{partition}")

    def _ask(self, method: str, path: str, timeout_s: float, body: object = None) -> Any:
        return self._first(lambda broker: self._request(method, broker, path, timeout_s, body))

    def _first(self, ask: Callable[[str], Answer]) -> Answer:
        failure: ServiceError = ServiceError("there are no brokers")
        for broker in self._brokers:
            try:
                return ask(broker)
            except ServiceError as error:
                failure = error
        raise failure

    def _request(
        self, method: str, broker: str, path: str, timeout_s: float, body: object = None, *, redirected: bool = True
    ) -> Any:
        content = self._content(method, broker, path, timeout_s, body, redirected=redirected)
        try:
            return json.loads(content) if content else None
        except ValueError as error:
            raise ServiceError(f"the response of broker {broker} is not JSON: {content[:200]!r}") from error

    def _content(
        self, method: str, broker: str, path: str, timeout_s: float, body: object = None, *, redirected: bool = True
    ) -> bytes:
        return self._response(method, broker, path, timeout_s, body, redirected=redirected).content

    def _response(
        self, method: str, broker: str, path: str, timeout_s: float, body: object = None, *, redirected: bool = True
    ) -> httpx.Response:
        url = f"http://{broker}:{WEB_PORT}{path}"
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        content = None if body is None else json.dumps(body)
        try:
            response = self._client.request(
                method, url, content=content, headers=headers, timeout=timeout_s, follow_redirects=redirected
            )
        except httpx.HTTPError as error:
            raise ServiceError(f"broker {broker} does not answer: {error}") from error
        if not response.is_success:
            raise PulsarRefused(response.status_code, _reason(response.content))
        return response


def ledger_entries(stats: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the ledgers, with their numbers of entries, from a partition's `internalStats`."""
    last_ledger, _, last_entry = str(stats.get("lastConfirmedEntry", "-1:-1")).partition(":")
    counts = {ledger["ledgerId"]: ledger["entries"] for ledger in stats.get("ledgers") or []}
    if int(last_ledger) in counts:
        counts[int(last_ledger)] = max(counts[int(last_ledger)], int(last_entry) + 1)
    return sorted(counts.items())


def partition_name(topic: str, partition: int) -> str:
    """Return the topic name of one partition of a partitioned topic."""
    return f"{topic}-partition-{partition}"


def topic_state(stats: dict[str, Any]) -> TopicState:
    """Return the state from a partition's `internalStats` (requested with ledger metadata)."""
    ledgers = stats.get("ledgers") or []
    first = min((ledger["ledgerId"] for ledger in ledgers), default=-1)
    last: dict[str, Any] = max(ledgers, key=lambda ledger: ledger["ledgerId"], default={})
    ensembles = _ensembles(last)
    stored = {bookie for ledger in ledgers for ensemble in _ensembles(ledger) for bookie in ensemble}
    return TopicState(
        stats.get("state") == "LedgerOpened", first, ensembles[-1] if ensembles else (), frozenset(stored)
    )


def _ensembles(ledger: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the addresses of the bookies of a ledger's ensembles, oldest first."""
    segments = re.findall(r"\d+=\[([^\]]*)\]", (ledger.get("metadata") or "").partition("ensembles=")[2])
    return [tuple(bookie.strip().rpartition(":")[0] for bookie in segment.split(",")) for segment in segments]


def _reason(content: bytes) -> str:
    """Return the reason from a broker's error response, which may be JSON, or plain text with a stack trace."""
    text = content.decode(errors="replace").strip()
    with suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(content)["reason"])
    message = _MESSAGE.search(text)
    return message[1] if message else text[:300]
