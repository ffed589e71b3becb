"""A Kafka cluster that runs already, reached as its clients reach it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from chaoskit.base.errors import BadInput
from chaoskit.base.secrets import check_secrets, resolved
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.attach import check_free, on_hosts
from chaoskit.contract.systems.node import Node
from chaoskit.contract.systems.owned import owned_installation
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.common.properties import text
from clusters.kafka import artifacts
from clusters.kafka.connection import BOOTSTRAP, CONNECTION_DEFAULTS, NAMESPACE
from clusters.kafka.deploy.effective import Reporter
from clusters.kafka.deploy.probe import PartitionState, features
from clusters.kafka.deploy.service import KafkaService
from clusters.kafka.deploy.witnesses import Witnesses
from clusters.kafka.guarantees.retention import RETENTION_UNITS_MS
from clusters.kafka.java.settings import own_client
from clusters.kafka.settings import (
    ELIGIBLE_LEADERS,
    FEATURES_SINCE,
    OF_BROKERS,
    OF_TOPICS,
    TRANSACTION_VERSION,
    KafkaOptions,
)
from clusters.kafka.topics import delete_topics

_KEY = "cluster.attach"
_SECRET = (
    "sasl.password", "sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password",
)  # fmt: skip
_OBSERVED = {
    *(setting.name for setting in OF_BROKERS),
    *(setting.inherits.name for setting in OF_TOPICS if setting.inherits is not None),
    *RETENTION_UNITS_MS,
}
"""The brokers' settings that guarantees depend on."""

_FEATURES = (ELIGIBLE_LEADERS, TRANSACTION_VERSION)
"""The features that guarantees depend on."""

_FILE = ".location"
_ANSWER_S = 10
_EPOCH_UNKNOWN = -1
_PROBLEMS_S, _PROBLEMS_MAX = 0.5, 3
_IN_SYNC_S = 20


def connect(settings: Mapping[str, Any], problems: list[str] | None = None) -> AdminClient:
    """Return an admin client.

    Args:
        settings: as in `cluster.attach`.
        problems: gets what goes wrong with connections, whenever the client is polled.

    Raises:
        BadInput: librdkafka rejects the settings, or a secret is not there.
    """
    try:
        known: dict[str, Any] = {**CONNECTION_DEFAULTS, **resolved(settings, _KEY)}
        if problems is not None:
            known["error_cb"] = lambda error: problems.append(error.str())
        return AdminClient(known, logger=None)
    except (KafkaException, TypeError, ValueError) as error:
        why = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise BadInput(f"{_KEY}: rejected by librdkafka: {why}") from error


def check(settings: Mapping[str, Any]) -> None:
    """Reject settings of the connection that cannot work, without connecting.

    Raises:
        BadInput: names each.
    """
    if not settings.get(BOOTSTRAP):
        raise BadInput(f'{_KEY}.{BOOTSTRAP}: is missing; write addresses of brokers, such as "k1:9092,k2:9092"')
    check_secrets(settings, _KEY, _SECRET)
    for name, value in settings.items():
        if name.endswith(_FILE) and isinstance(value, str) and not Path(value).exists():
            raise BadInput(f"{_KEY}.{name}: {value}: there is no such file")
    connect(settings)


def observe(settings: Mapping[str, Any], brokers: int, options: KafkaOptions) -> KafkaOptions:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    problems: list[str] = []
    admin = connect(settings, problems)
    nodes = _nodes(admin, settings, problems)
    if len(nodes) != brokers:
        raise BadInput(f"cluster.hosts: the cluster has {len(nodes)} brokers; write hosts: {len(nodes)}")
    try:
        reports = Reporter({node.name: node.id for node in nodes}, admin, lambda: ()).settings_in_effect()
    except ServiceError as error:
        raise BadInput(f"{_KEY}: the settings of the brokers cannot be read: {error}") from error
    effective = [{name: value for name, value in report.items() if value is not None} for report in reports.values()]
    config = dict(options.config)
    for name in {*config, *_OBSERVED}:
        values = sorted({str(report[name]) for report in effective if name in report})
        if len(values) > 1:
            raise BadInput(f"cluster.config.{name}: brokers have different values: {', '.join(values)}")
        declared = config.get(name)
        if declared is not None and values and text(declared) != values[0]:
            raise BadInput(f"cluster.config.{name}: the brokers have {values[0]}, not {text(declared)}; write that")
        if values:
            config[name] = values[0]
    return options.model_copy(update={"config": config, "features": _features(nodes, options)})


def _features(nodes: Sequence[Node], options: KafkaOptions) -> dict[str, int]:
    """Return the levels that the cluster has finalized of the features that rules depend on; its release does not tell
    them: one that was upgraded may have none.

    A cluster that does not say, because it is encrypted for example, is taken to have none of them: what they prevent
    is then a known issue, not allowed.

    Raises:
        BadInput: the scenario says another level.
    """
    if artifacts.parse_version(options.version) < FEATURES_SINCE:
        return options.features
    finalized, levels = _finalized_levels(nodes), dict(options.features)
    for name in _FEATURES:
        declared, level = options.features.get(name), None if finalized is None else finalized.get(name, 0)
        if declared is not None and level is not None and level != declared:
            raise BadInput(f"cluster.features.{name}: the cluster has level {level}, not {declared}; write that")
        levels[name] = level if level is not None else declared or 0
    return levels


def _finalized_levels(nodes: Sequence[Node]) -> dict[str, int] | None:
    """Return the levels of features as the first broker that answers tells them; None if none does."""
    for node in nodes:
        address, _, port = node.address.rpartition(":")
        try:
            return features(address, int(port), _ANSWER_S)
        except (OSError, struct.error, ValueError):
            continue
    return None


def _nodes(admin: AdminClient, settings: Mapping[str, Any], problems: Sequence[str] = ()) -> list[Node]:
    """Return the brokers in the order of their ids.

    Args:
        admin: an admin client.
        settings: as in `cluster.attach`.
        problems: what goes wrong with its connections; see `connect`.

    Raises:
        BadInput: none answers.
    """
    try:
        brokers = admin.list_topics(timeout=_ANSWER_S).brokers
    except KafkaException as error:
        admin.poll(_PROBLEMS_S)
        why = "; ".join(list(dict.fromkeys(problems))[:_PROBLEMS_MAX]) or error.args[0].str()
        raise BadInput(f"{_KEY}: no broker answers at {settings[BOOTSTRAP]}: {why}") from error
    known = sorted(brokers.values(), key=lambda broker: int(broker.id))
    return [Node(f"n{n}", f"{broker.host}:{broker.port}", str(broker.id)) for n, broker in enumerate(known, 1)]


class AttachedKafka(KafkaService):
    """See `chaoskit.contract.systems.service.Service`.

    Args:
        settings: librdkafka's settings of the connection; secrets are references.
        options: as in the scenario, completed by `observe`.
        hosts: the brokers' hosts, if an inventory names them.
    """

    owner = "an existing Kafka cluster"

    def __init__(self, settings: Mapping[str, Any], options: KafkaOptions, hosts: Sequence[ServiceHost]) -> None:
        admin = connect(settings)
        nodes, hosts = on_hosts(_nodes(admin, settings), hosts)
        super().__init__(admin, options, {int(node.id): node.name for node in nodes})
        self._settings = settings
        self._ids = {node.name: node.id for node in nodes}
        addresses = [node.address for node in nodes]
        self._witnesses = Witnesses(lambda address: connect({**settings, BOOTSTRAP: address}), addresses)
        self._holders.append(Reporter(self._ids, admin, lambda: self._topics.names))
        self.nodes = nodes
        if hosts:
            self._holders.append(owned_installation(hosts, self.answers))

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the broker tells its settings: a request that no other one answers, on an open connection."""
        asked = ConfigResource(ConfigResource.Type.BROKER, self._ids[host.name])
        try:
            self._admin.describe_configs([asked], request_timeout=timeout_s)[asked].result()
        except KafkaException:
            return False
        return True

    def begin_trial(self, namespace: str, options: KafkaOptions) -> None:
        check_free(namespace, self._topics.existing())
        super().begin_trial(namespace, options)

    def client_settings(self) -> dict[str, Any]:
        return {**self._settings, NAMESPACE: self._namespace, **own_client(self._options)}

    def end_trial(self) -> None:
        super().end_trial()
        _delete_groups(self._admin, self._namespace)

    def _states(self, topics: Sequence[str]) -> dict[Place, PartitionState]:
        states = self._witnesses.states(topics)
        return {
            place: PartitionState(_EPOCH_UNKNOWN, state.leader, tuple(state.replicas), tuple(state.isrs))
            for place, state in states.items()
        }


def remove(settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    return delete_topics(connect(settings), names)


def _delete_groups(admin: AdminClient, namespace: str) -> None:
    """Delete the groups of a trial; those of others have other names.

    Raises:
        ServiceError: one could not be deleted.
    """
    try:
        listed = admin.list_consumer_groups(request_timeout=_ANSWER_S).result()
        own = [group.group_id for group in listed.valid if namespace and group.group_id.startswith(namespace)]
        for done in admin.delete_consumer_groups(own, request_timeout=_ANSWER_S).values() if own else ():
            done.result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise ServiceError(f"groups {namespace}*: {error.args[0].str()}") from error
