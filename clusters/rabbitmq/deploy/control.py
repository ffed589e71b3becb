"""RabbitMQ's programs on the hosts, and its command line tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.rabbitmq.deploy import probe
from clusters.rabbitmq.settings import environment, home_folder

_PROGRAMS = "/usr/lib/rabbitmq/lib/rabbitmq_server-{version}/sbin"
"""RabbitMQ's own programs; those in the path insist on a user called rabbitmq."""

_TIMEOUT_S = 60
_ANSWER_TIMEOUT_S = 0.3


class RabbitControl:
    """Runs RabbitMQ's command line tools.

    Args:
        hosts: the hosts.
        version: the release that they have.
    """

    def __init__(self, hosts: Sequence[ServiceHost], version: str) -> None:
        self._hosts = hosts
        self._folder = _PROGRAMS.format(version=version)

    def program(self, name: str) -> str:
        """Return the path of a program on the hosts."""
        return f"{self._folder}/{name}"

    def run(self, tool: str, *arguments: str, without: Collection[ServiceHost] = ()) -> str:
        """Run a tool on the first host whose node answers, which takes about a second; return its output.

        Args:
            tool: its name, such as `rabbitmqctl`.
            arguments: its arguments.
            without: hosts not to use.

        Raises:
            ServiceError: it failed, or no node answers.
        """
        usable = (host for host in self._hosts if host not in without)
        host = next((candidate for candidate in usable if probe.answers(candidate.address, _ANSWER_TIMEOUT_S)), None)
        if host is None:
            raise ServiceError(f"no node of RabbitMQ answers, so {tool} cannot be used")
        given = environment(host.name, host.address, host.data_dir)
        command = [
            "env",
            f"--chdir={home_folder(host.data_dir)}",
            *(f"{key}={value}" for key, value in given.items()),
            self.program(tool),
            *arguments,
        ]
        done = host.run(host.as_service(command), timeout_s=_TIMEOUT_S, check=False)
        if done.status != 0:
            raise ServiceError(f"{tool} {' '.join(arguments)} failed: {(done.err or done.out).strip()[-300:]}")
        return done.out

    def evaluate(self, expression: str) -> str:
        """Evaluate an Erlang expression on a node; return its value as text. Raises like `run`."""
        return self.run("rabbitmqctl", "eval", expression).strip()
