"""Pulsar's admin API over HTTP: topics are made, and asked about, at whichever broker answers."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from chaoskit.contract.cluster import ClusterError
from clusters.pulsar.settings import TOPICS, WEB_PORT

Answer = TypeVar("Answer")

_CREATE_TIMEOUT_S = 15


class Refused(ClusterError):
    """A broker answered with an error.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"status {status}: {reason}")
        self.status = status


@dataclass(frozen=True, slots=True)
class TopicState:
    """What the owner of a partition knows of its log.

    Attributes:
        writable: whether its current ledger is open.
        first_ledger: id of the oldest ledger that it keeps; -1 without any.
        ensemble: addresses of the bookies that the current ledger is written to.
    """

    writable: bool
    first_ledger: int
    ensemble: tuple[str, ...]


class Admin:
    """Brokers by their addresses. Each question goes to one after the other until one answers."""

    def __init__(self, brokers: Sequence[str]) -> None:
        self._brokers = tuple(brokers)

    def set_policy(self, name: str, value: Any) -> None:
        """Set a policy of the workload's namespace, by the last part of its path in the admin API.

        Raises:
            Refused: brokers refuse it.
            ClusterError: no broker answers.
        """
        self._ask("POST", f"/admin/v2/namespaces/{TOPICS}/{name}", _CREATE_TIMEOUT_S, json.dumps(value).encode())

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a partitioned topic; nothing if it exists.

        Raises:
            Refused: brokers refuse it.
            ClusterError: no broker answers.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{name}/partitions"
        try:
            self._ask("PUT", path, _CREATE_TIMEOUT_S, json.dumps(partitions).encode())
        except Refused as refusal:
            if refusal.status != http.HTTPStatus.CONFLICT:
                raise

    def state(self, topic: str, partition: int, timeout_s: float) -> TopicState:
        """Return the state of a partition's log, from its owner.

        Raises:
            ClusterError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/internalStats?metadata=true"
        return topic_state(self._ask("GET", path, timeout_s))

    def last_message(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int, int] | None:
        """Return ledger, entry and batch index (-1 without a batch) of a partition's last message; None without any.

        Raises:
            ClusterError: no broker answers, or the owner does not.
        """
        path = f"/admin/v2/persistent/{TOPICS}/{partition_name(topic, partition)}/lastMessageId"
        told = self._ask("GET", path, timeout_s)
        last = told["ledgerId"], told["entryId"], told.get("batchIndex", -1)
        return None if last[1] < 0 else last

    def owner(self, topic: str, partition: int, timeout_s: float) -> str:
        """Return the address of the broker that owns a partition; all brokers are asked at once.

        Raises:
            ClusterError: no broker knows.
        """
        path = f"/lookup/v2/topic/persistent/{TOPICS}/{partition_name(topic, partition)}"

        def ask(broker: str) -> str | None:
            try:
                return urlsplit(str(_request("GET", broker, path, timeout_s)["brokerUrl"])).hostname
            except (ClusterError, KeyError, TypeError):
                return None

        with ThreadPoolExecutor(len(self._brokers)) as pool:
            told = [address for address in pool.map(ask, self._brokers) if address]
        if not told:
            raise ClusterError(f"no broker knows who owns {topic}/{partition}")
        return max(set(told), key=told.count)

    def bundle(self, topic: str, partition: int, timeout_s: float) -> str:
        """Return the range of the bundle of the namespace that a partition belongs to.

        Raises:
            ClusterError: no broker answers.
        """
        path = f"/lookup/v2/topic/persistent/{TOPICS}/{partition_name(topic, partition)}/bundle"
        return self._first(lambda broker: _content("GET", broker, path, timeout_s)).decode()

    def unload(self, owner: str, bundle: str, destination: str, timeout_s: float) -> None:
        """Have the broker that owns a bundle give it up, and the next one that wants it be this one (its address and
        HTTP port).

        The leader of the load manager remembers the destination; it then refers to the owner, which unloads.

        Raises:
            ClusterError: a broker does not do it.
        """
        path = f"/admin/v2/namespaces/{TOPICS}/{bundle}/unload"
        try:
            _request("PUT", self.load_manager_leader(timeout_s), f"{path}?destinationBroker={destination}", timeout_s)
        except Refused as answer:
            if answer.status != http.HTTPStatus.TEMPORARY_REDIRECT:
                raise
        else:
            return
        _request("PUT", owner, path, timeout_s)

    def load_manager_leader(self, timeout_s: float) -> str:
        """Return the address of the broker that assigns topics to brokers.

        Raises:
            ClusterError: no broker knows.
        """
        told = self._ask("GET", "/admin/v2/brokers/leaderBroker", timeout_s)
        return str(urlsplit(told["serviceUrl"]).hostname)

    def _ask(self, method: str, path: str, timeout_s: float, body: bytes | None = None) -> Any:
        return self._first(lambda broker: _request(method, broker, path, timeout_s, body))

    def _first(self, ask: Callable[[str], Answer]) -> Answer:
        failure: ClusterError = ClusterError("there is no broker")
        for broker in self._brokers:
            try:
                return ask(broker)
            except ClusterError as error:
                failure = error
        raise failure


def partition_name(topic: str, partition: int) -> str:
    """Return the name of the topic that is one partition of a partitioned topic."""
    return f"{topic}-partition-{partition}"


def topic_state(stats: dict[str, Any]) -> TopicState:
    """Return the state told by a partition's `internalStats`, asked for with the metadata of its ledgers."""
    ledgers = stats.get("ledgers") or []
    first = min((ledger["ledgerId"] for ledger in ledgers), default=-1)
    last: dict[str, Any] = max(ledgers, key=lambda ledger: ledger["ledgerId"], default={})
    segments = re.findall(r"\d+=\[([^\]]*)\]", (last.get("metadata") or "").partition("ensembles=")[2])
    bookies = segments[-1].split(",") if segments else []
    ensemble = tuple(bookie.strip().rpartition(":")[0] for bookie in bookies)
    return TopicState(stats.get("state") == "LedgerOpened", first, ensemble)


def _request(method: str, broker: str, path: str, timeout_s: float, body: bytes | None = None) -> Any:
    content = _content(method, broker, path, timeout_s, body)
    try:
        return json.loads(content) if content else None
    except ValueError as error:
        raise ClusterError(f"broker {broker} does not answer in JSON: {content[:200]!r}") from error


def _content(method: str, broker: str, path: str, timeout_s: float, body: bytes | None = None) -> bytes:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(f"http://{broker}:{WEB_PORT}{path}", body, headers, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=timeout_s) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        raise Refused(error.code, _reason(error.read())) from error
    except (OSError, http.client.HTTPException) as error:
        raise ClusterError(f"broker {broker} does not answer: {error}") from error


def _reason(content: bytes) -> str:
    """Return why a broker refused, from its JSON or as it is."""
    try:
        return str(json.loads(content)["reason"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace").strip()[:300]
