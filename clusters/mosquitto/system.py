"""The Mosquitto plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.later import Later
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.system import CLIENT_POWERS
from chaoskit.contract.systems.wire import Tapped, Wire
from chaoskit.contract.workloads.datamodel import PUBSUB
from clusters.common.diagnosis import debian_roots
from clusters.hosts import roots
from clusters.mosquitto import releases
from clusters.mosquitto.client_settings import check_owed, publisher_settings, subscriber_settings
from clusters.mosquitto.guarantees.rules import GUARANTEES
from clusters.mosquitto.settings import ROLES, WIRE, MosquittoOptions

_FOR_RUNS = tuple(f"clusters.mosquitto.{name}" for name in ("client", "deploy"))
if TYPE_CHECKING:
    from clusters.mosquitto import client, deploy
else:
    client, deploy = (Later("mosquitto", path) for path in _FOR_RUNS)

_FEEDS = "MQTT stores no topics; use workload.kind: feed"
_ONE_BROKER = "Mosquitto has no clusters"


class MosquittoSystem:
    """Entry point `mosquitto` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = MosquittoOptions
    tested = releases.TESTED
    roles = ROLES
    models = (PUBSUB,)
    guarantees = GUARANTEES
    never: Mapping[type, str] = {
        **dict.fromkeys((power for power in CLIENT_POWERS if power is not FeedClients), _FEEDS),
        **dict.fromkeys((Leadership, Reassignment, Decommissioning), _ONE_BROKER),
        DataFiles: "use `files:` instead of `what:`",
    }
    notyet: Mapping[type, str] = {
        Upgrade: "hosts would need another root",
    }

    def service_powers(self, options: MosquittoOptions) -> tuple[type, ...]:
        return (Installation, Tapped)

    def client_powers(self, options: MosquittoOptions) -> tuple[type, ...]:
        return (FeedClients,)

    def check(self, declared: Declared) -> None:
        problems = Problems()
        problems.tried(releases.root_of, declared.options.version)
        publisher = problems.tried(publisher_settings, declared.producer)
        subscriber = problems.tried(subscriber_settings, declared.consumer)
        bridged = declared.options.bridge is not None
        if bridged and declared.hosts != 2:
            problems.add(BadInput(f"cluster.hosts: {declared.hosts}: a bridge is between two brokers; set hosts: 2"))
        elif not bridged and declared.hosts != 1:
            remedy = "set hosts: 1, or with 2 a bridge between them: bridge: {qos: 1}"
            problems.add(BadInput(f"cluster.hosts: {declared.hosts}: {_ONE_BROKER}; {remedy}"))
        if publisher and subscriber:
            problems.tried(check_owed, declared, publisher, subscriber)
        problems.raise_any()

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return releases.newest_release()

    def prepare(self, options: MosquittoOptions) -> None:
        """Do nothing: the packages are in the root of the host."""

    def root(self, options: MosquittoOptions) -> Root:
        """See `chaoskit.contract.systems.system.Rooted`."""
        return releases.root_of(options.version)

    def deployment(self, options: MosquittoOptions) -> MosquittoOptions:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: MosquittoOptions) -> deploy.Brokers:
        return deploy.Brokers(hosts, options, roots.packages(releases.root_of(options.version)))

    def clients(self, settings: Mapping[str, Any]) -> client.MqttClients:
        return client.MqttClients(settings)

    def brokers(self, options: MosquittoOptions, hosts: int) -> int:
        return hosts

    def wire(self, options: MosquittoOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def diagnose(self) -> list[Capability]:
        return [debian_roots("Mosquitto")]
