"""Kafka's own command line tools, run on a host of the cluster."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.common.java import java
from clusters.kafka import artifacts
from clusters.kafka.settings import BROKER_PORT

TIMEOUT_S = 60
PLAN = "PLAN"
"""Placeholder in a tool's arguments for the path of its plan on the host."""


def node_id(hosts: Sequence[ServiceHost], host: ServiceHost) -> int:
    """Return the id of the node on a host, of some that begin with the first one; 0 if it is none of them."""
    return list(hosts).index(host) + 1 if host in hosts else 0


class KafkaTools:
    """The command line tools of a release.

    Args:
        brokers: the broker hosts.
        version: the release.
        answers: whether the broker on a host answers.

    Attributes:
        version: the release; another one after an upgrade.
    """

    def __init__(self, brokers: Sequence[ServiceHost], version: str, answers: Callable[[ServiceHost], bool]) -> None:
        self.version = version
        self._brokers = brokers
        self._answers = answers

    def reassign(self, moves: Sequence[Mapping[str, object]]) -> None:
        """Begin to reassign partitions.

        Args:
            moves: as `kafka-reassign-partitions` takes them: `topic`, `partition`, `replicas`, and maybe `log_dirs`.

        Raises:
            ServiceError: no broker answers, or the tool failed.
        """
        program = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        plan = {"version": 1, "partitions": moves}
        self.run(program, "--reassignment-json-file", PLAN, "--execute", "--additional", plan=plan)

    def run(
        self,
        program: str,
        *arguments: str,
        plan: Mapping[str, object] | str | None = None,
        on: ServiceHost | None = None,
    ) -> str:
        """Run a tool; return its output.

        Args:
            program: its class.
            arguments: its arguments; `PLAN` stands for the path of the plan.
            plan: the content of a file for it; what is no text becomes JSON.
            on: the host on which it runs; None: the first one whose broker answers.

        Raises:
            ServiceError: no broker answers, or the tool failed.
        """
        if not artifacts.has_tools(self.version):
            raise ServiceError(f"Kafka {self.version} does not have the required command line tools; use 4.0 or later")
        broker = next((host for host in self._brokers if self._answers(host)), None)
        if broker is None:
            raise ServiceError("no broker answers")
        host = on or broker
        path = f"/run/chaoskit-plan-{uuid.uuid4().hex}.json"
        if plan is not None:
            host.put((plan if isinstance(plan, str) else json.dumps(plan)).encode(), path)
            arguments = tuple(path if argument == PLAN else argument for argument in arguments)
        jars = host.install(artifacts.fetch_tools(self.version))
        connect = ["--bootstrap-server", f"{broker.address}:{BROKER_PORT}"]
        done = host.run([*java(f"{jars}/*"), program, *connect, *arguments], timeout_s=TIMEOUT_S, check=False)
        if done.status != 0:
            raise ServiceError(f"{program.rpartition('.')[2]} failed: {(done.out + done.err).strip()[-500:]}")
        return done.out
