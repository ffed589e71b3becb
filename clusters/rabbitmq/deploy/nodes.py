"""RabbitMQ's processes on the hosts of a lab: configure, start, look after."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import ServiceError
from clusters.common.supervision import Supervisor
from clusters.rabbitmq.deploy import probe
from clusters.rabbitmq.deploy.control import RabbitControl
from clusters.rabbitmq.releases import KHEPRI, metadata_of, parse_version
from clusters.rabbitmq.settings import CONF_FOLDER, RabbitOptions, environment, home_folder, rabbitmq_conf

SERVICE = "rabbitmq"
_KHEPRI_SINCE = (4, 3)
_PLUGINS = "[rabbitmq_management,rabbitmq_stream].\n"

_PREPARE = """
mkdir -p "$1/mnesia" "$1/log"
rm -f "$1/.erlang.cookie"
printf %s "$2" > "$1/.erlang.cookie"
chmod 400 "$1/.erlang.cookie"
"""
"""What a node expects on its disk. All nodes have the same cookie; a power cut may have left an empty one."""


class RabbitNodes:
    """The powers `Installation` and `Supervision` of `chaoskit.contract.systems.service`.

    Args:
        hosts: the hosts.
        options: as in the scenario.
        control: RabbitMQ's programs.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RabbitOptions, control: RabbitControl) -> None:
        self._hosts = hosts
        self._options = options
        self._control = control
        self._cookie = secrets.token_hex(16)
        self._khepri = False
        self._supervisor = Supervisor(lambda host, _: self.start(host), ())
        on_each(hosts, self._configure)

    def start(self, host: ServiceHost) -> None:
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        home = home_folder(host.data_dir)
        host.run(host.as_service(["sh", "-c", _PREPARE, "prepare", home, self._cookie]))
        host.spawn(
            SERVICE,
            ["env", f"--chdir={home}", self._control.program("rabbitmq-server")],
            environment(host.name, host.address, host.data_dir),
        )

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (SERVICE,)

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        return self._supervisor.revivals

    def begin(self) -> None:
        """Begin to wait for the nodes."""
        self._supervisor.begin()

    def silent(self) -> str:
        """Return which nodes do not answer, after starting those again that exited; empty if all do.

        Of several nodes that start at once, one may give up ("BOOT FAILED") because another one was not yet there.

        Raises:
            ServiceError: a node exited too often.
        """
        silent = [host for host in self._hosts if not probe.answers(host.address, 0.5)]
        self._supervisor.look_after((host, SERVICE) for host in silent)
        return f"no answer from {', '.join(host.name for host in silent)}" if silent else ""

    def served(self) -> None:
        """Note that the cluster was ready."""
        self._supervisor.served = True

    def use_khepri(self) -> None:
        """Have the cluster move its metadata to Khepri, where that is asked for: in 4.0."""
        if metadata_of(self._options.version, self._options.metadata) != KHEPRI or self._khepri:
            return
        if parse_version(self._options.version) < _KHEPRI_SINCE:
            self._control.run("rabbitmqctl", "enable_feature_flag", "--opt-in", "khepri_db")
        self._khepri = True

    def _configure(self, host: ServiceHost) -> None:
        names = [host.name for host in self._hosts]
        host.put(rabbitmq_conf(self._options, names, host.address).encode(), f"{CONF_FOLDER}/rabbitmq.conf")
        host.put(_PLUGINS.encode(), f"{CONF_FOLDER}/enabled_plugins")
        program = self._control.program("rabbitmq-server")
        if host.run(["test", "-x", program], check=False).status != 0:
            raise ServiceError(f"host {host.name} has no {program}")
