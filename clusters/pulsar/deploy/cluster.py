"""Pulsar on the hosts of a lab: brokers on top of ZooKeeper and bookies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.pulsar import settings
from clusters.pulsar.clients.queues import QUEUES, TTL_POLICY, retry_topics, ttl_s
from clusters.pulsar.clients.settings import BEGINS, COMPACTED, NAMESPACE
from clusters.pulsar.compaction import is_compacted
from clusters.pulsar.connection import subscription
from clusters.pulsar.deploy import probe
from clusters.pulsar.deploy.admin import Admin, PulsarRefused, partition_name
from clusters.pulsar.java.settings import own_client
from clusters.pulsar.operate.operator import PulsarOperator
from clusters.pulsar.roles import PulsarRoles
from clusters.pulsar.settings import BROKER, BROKER_PORT, WEB_PORT, PulsarOptions
from clusters.storage.settings import connection
from clusters.storage.stack import StorageStack

_COORDINATORS = "3"
_POLL_S = 0.1
_CREATE_TIMEOUT_S = 30
_STATE_TIMEOUT_S = 3
_ASKED_AT_ONCE = 8
_REFUSED_FOR_GOOD = (400, 404, 405, 412, 415)
"""HTTP statuses that another attempt will not change."""


class PulsarCluster(StorageStack[PulsarOptions]):
    """A configured Pulsar cluster; see `chaoskit.contract.systems.service.Service`.

    Args:
        hosts: see `settings.Roles` for who gets which role.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: PulsarOptions, jars: Path) -> None:
        self.wire = settings.WIRE
        placed = options.place(len(hosts))
        self._brokers = [hosts[index].address for index in placed.brokers]
        self._admin = Admin(self._brokers)
        self._namespace = ""
        self._policies_set = False
        self._topics: list[Topic] = []
        self._begins: dict[str, int] = {}
        self._partition_roles = PulsarRoles(hosts, placed, self._admin)
        super().__init__("Pulsar", hosts, options, self._partition_roles, jars)
        self._holders.append(PulsarOperator(self._admin, self._partition_roles, self._partitions))

    def begin_trial(self, namespace: str, options: PulsarOptions) -> None:
        self._namespace = namespace

    def create_topic(self, topic: Topic) -> None:
        if not self._policies_set:
            for name, value in self._options.namespace.items():
                if value is not None:
                    _insist(f"cluster.namespace.{name}", partial(self._admin.set_policy, name, value))
            self._policies_set = True
        _insist(f"topic {topic.name}", partial(self._admin.create_topic, topic.name, topic.partitions or 1))
        self._topics.append(topic)
        self.wait_ready(_CREATE_TIMEOUT_S)
        for name, number in topic.places:
            begins = self._admin.state(name, number, _CREATE_TIMEOUT_S).first_ledger
            self._begins[partition_name(name, number)] = begins
        if topic.model is QUEUE:
            self._begin_queue(topic)

    def settings_in_effect(self) -> dict[str, Mapping[str, str]]:
        names = {host.address: host.name for host in self.hosts}
        brokers = self._admin.configurations(_CREATE_TIMEOUT_S)
        of_brokers = {f"broker {names[broker]}": dict(sorted(settings.items())) for broker, settings in brokers.items()}
        return {**super().settings_in_effect(), **of_brokers}

    def placements(self) -> list[Placed]:
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            placements = pool.map(lambda place: self._partition_roles.placed(*place), self._partitions())
        return [placed for placed in placements if placed is not None]

    def end_trial(self) -> None:
        topics, self._topics, self._begins = self._topics, [], {}
        if any(map(ttl_s, topics)):
            _insist("workload.ttl", partial(self._admin.set_policy, TTL_POLICY, 0))
        for topic in topics:
            for name in (topic.name, *retry_topics(self._options, topic)):
                _insist(f"topic {name}", partial(self._admin.delete_topic, name))

    def client_settings(self) -> dict[str, Any]:
        return {
            "service_url": self.endpoints(),
            "brokers": self._brokers,
            NAMESPACE: self._namespace,
            BEGINS: self._begins,
            COMPACTED: is_compacted(self._options),
            QUEUES: {topic.name: dict(topic.settings) for topic in self._topics if topic.model is QUEUE},
            **own_client(self._options),
        }

    def endpoints(self) -> str:
        """See `chaoskit.contract.systems.service.Endpoints`: the service URL."""
        return "pulsar://" + ",".join(f"{address}:{BROKER_PORT}" for address in self._brokers)

    def configuration(self, index: int) -> Mapping[str, str]:
        files = dict(super().configuration(index))
        if BROKER in self.services(self.hosts[index]):
            conf = settings.broker_conf(self._options, self._addresses, index)
            files[self._file("broker.conf")] = conf
        return files

    def program(self, service: str) -> list[str]:
        if service == BROKER:
            return ["org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", self._file("broker.conf")]
        return super().program(service)

    def service_answers(self, service: str, host: ServiceHost, timeout_s: float) -> bool:
        return probe.answers(service, host.address, timeout_s)

    def metadata_setup(self, host: ServiceHost) -> list[str]:
        """Return the command; what is there already stays."""
        store = f"zk:{connection(self._addresses, self._placed)}"
        broker = self._brokers[0]
        program = ["org.apache.pulsar.PulsarClusterMetadataSetup", "--cluster", settings.CLUSTER_NAME]
        stores = ["--metadata-store", store, "--configuration-metadata-store", store]
        urls = ["--web-service-url", f"http://{broker}:{WEB_PORT}"]
        urls += ["--broker-service-url", f"pulsar://{broker}:{BROKER_PORT}"]
        coordinators = ["--initial-num-transaction-coordinators", _COORDINATORS] if self._options.transactions else []
        return [*program, *stores, *urls, *coordinators]

    def missing(self) -> str:
        return super().missing() or next(
            filter(None, (self._missing_partition(*partition) for partition in self._partitions())), ""
        )

    def _begin_queue(self, topic: Topic) -> None:
        """Create a queue's subscription before anything is sent, its retry topic, and say how long messages live."""
        name = subscription({NAMESPACE: self._namespace})
        retries = retry_topics(self._options, topic)
        for retry in retries:
            _insist(f"topic {retry}", partial(self._admin.create_topic, retry, 1))
        for queue in (topic.name, *retries):
            _insist(f"queue {queue}", partial(self._admin.create_subscription, queue, 0, name))
        if lives := ttl_s(topic):
            _insist("workload.ttl", partial(self._admin.set_policy, TTL_POLICY, lives))

    def _partitions(self) -> list[tuple[str, int]]:
        return [place for topic in self._topics for place in topic.places]

    def _missing_partition(self, topic: str, partition: int) -> str:
        try:
            state = self._admin.state(topic, partition, _STATE_TIMEOUT_S)
        except ServiceError as error:
            return f"{topic}/{partition}: {error}"
        return "" if state.writable else f"{topic}/{partition} has no ledger that is open for writing"


def _insist(what: str, ask: Callable[[], None]) -> None:
    """Ask brokers until they do it.

    Raises:
        BadInput: they refuse it for what it is.
        ServiceError: they did not within half a minute.
    """

    def failure() -> ServiceError | None:
        try:
            ask()
        except PulsarRefused as refusal:
            if refusal.status in _REFUSED_FOR_GOOD:
                raise BadInput(f"{what}: rejected by Pulsar: {refusal}") from refusal
            return refusal
        except ServiceError as error:
            return error
        return None

    if error := wait_while(failure, _CREATE_TIMEOUT_S, every_s=_POLL_S):
        raise ServiceError(f"{what}: brokers did not do it within {_CREATE_TIMEOUT_S} s: {error}")
