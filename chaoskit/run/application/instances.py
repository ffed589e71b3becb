"""The instances of the application: started, watched and stopped together; for nemeses, an installation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import RunFailed
from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.application import APPLICATION, Application, stdout_name
from chaoskit.history.format.origin import read_origin
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.run.application.instance import SERVICE, Instance
from chaoskit.run.application.log_watch import LogWatch
from chaoskit.run.faults.occupancy import Occupancy

_STOP_S = 10.0
_LOOK_S = 0.1
_ENDS_MAX = 3
"""An instance that ends so often before the load does not start; one that waits for others may end once or twice."""

_NO_FAULT = -1
_DECIDING = {HostPart.PROCESSES, HostPart.POWER}
"""Parts of a host of which a fault that occupies one decides whether the instance runs."""


class Instances:
    """The instances, each on a host of its own; see `chaoskit.contract.systems.installation.Installation`.

    Args:
        application: how they are run.
        hosts: their hosts.
        names: what the names in braces of its command stand for.
        folder: the run folder.
        numbers: returns process numbers of the history.
        run_id: id of the run.
        namespace: prefix of the names of topics in the system.

    Attributes:
        hosts: as given.
        occupancy: the faults that hold on hosts; None: none does yet.
    """

    def __init__(  # noqa: PLR0917 - what instances are made of
        self,
        application: Application,
        hosts: Sequence[ServiceHost],
        names: Mapping[str, str],
        folder: Path,
        numbers: Callable[[], int],
        run_id: int,
        namespace: str,
    ) -> None:
        self.hosts = hosts
        self.occupancy: Occupancy | None = None
        self._application = application
        logs = folder / store.LOGS / APPLICATION
        logs.mkdir(parents=True, exist_ok=True)
        self._wals: list[WalWriter] = []
        self._instances: dict[str, Instance] = {}
        log_paths = [logs / f"{APPLICATION}-{number}.log" for number in range(len(hosts))]
        self._watch = LogWatch(log_paths, read_origin(folder / "wal"))
        for number, (host, log) in enumerate(zip(hosts, log_paths, strict=True)):
            name, known = log.stem, {**names, "instance": str(number), "host": host.address}
            wal = WalWriter(folder / "wal", name, numbers())
            self._wals.append(wal)
            self._instances[host.name] = Instance(
                name,
                host,
                [filled(part, known) for part in application.run],
                {key: filled(value, known) for key, value in application.env.items()},
                log,
                logs / stdout_name(number) if application.keeps_stdout else None,
                WalRecorder(wal, run_id, namespace),
                application.restart_ns,
                self._held,
            )

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "the application")

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the instance on a host runs, and is not stopped."""
        return self._instances[host.name].running() and host.state(SERVICE) is ServiceState.RUNNING

    def start(self, host: ServiceHost) -> None:
        self._instances[host.name].start()

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (SERVICE,)

    def begin(self, owned: Callable[[], int]) -> None:
        """Start all instances, and wait until they own what they are to read.

        Args:
            owned: returns how many partitions have an owner.

        Raises:
            RunFailed: one ended, or they do not read; the message has the end of its output.
        """
        self._watch.begin()
        on_each(list(self._instances.values()), lambda instance: instance.begin())
        deadline = time.monotonic() + self._application.ready_ns / 1e9
        while owned() < self._application.partitions:
            for instance in self._instances.values():
                if instance.ends >= (1 if self._application.restart_ns is None else _ENDS_MAX):
                    often = f" {instance.ends} times" if instance.ends > 1 else ""
                    raise RunFailed(f"{instance.name} ended{often} before the load:\n{instance.last_words()}")
            if time.monotonic() > deadline:
                raise RunFailed(self._never_read())
            time.sleep(_LOOK_S)

    def stop(self) -> list[str]:
        """End all instances; return what went wrong, as sentences."""
        instances = list(self._instances.values())
        gentle: dict[str, bool] = {}

        def stop(instance: Instance) -> None:
            gentle[instance.name] = instance.stop(_STOP_S)

        on_each(instances, stop)
        self._watch.end()
        for wal in self._wals:
            wal.close()
        return [
            f"{name} did not end within {_STOP_S:g} s of SIGTERM, and was killed"
            for name, was_enough in gentle.items()
            if not was_enough
        ]

    def _held(self, host: str) -> bool:
        """Return whether a fault decides whether the instance on a host runs."""
        faults = self.occupancy.beside(host, _NO_FAULT) if self.occupancy else {}
        return any(parts & _DECIDING for parts in map(frozenset, faults.values()))

    def _never_read(self) -> str:
        waited = f"{self._application.ready_ns / 1e9:g} s"
        words = "\n".join(
            f"{instance.name} ({'running' if instance.running() else 'not running'}): {instance.last_words()}"
            for instance in self._instances.values()
        )
        return (
            f"the application does not read: after {waited} not every partition of what it reads has an owner in a "
            "group of consumers, or not every instance consumes from its queue (workload.application.ready_within); "
            f"its last lines:\n{words}"
        )


def filled(text: str, names: Mapping[str, Any]) -> str:
    """Return a text in which known names in braces are replaced.

    >>> filled("{endpoints}/{other}", {"endpoints": "n1:9092"})
    'n1:9092/{other}'
    """
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text
