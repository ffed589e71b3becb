"""One run, from provisioning to verdict.

provision hosts, deploy, start, wait until ready, create topics, sync all disks, load with faults,
heal, recover within the bound, final read, collect logs, clean, compact, judge. Whatever fails, what
was recorded is kept, logs are collected and the machine is cleaned.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from chaoskit.base import store
from chaoskit.base.errors import BadInput, ChaoskitError, RunFailed
from chaoskit.base.journal import Journal
from chaoskit.contract.cluster import Cluster, ClusterError
from chaoskit.contract.host import HostError, Lab, ServiceHost
from chaoskit.contract.workload import AUDITOR, PRODUCER, Progress, Task
from chaoskit.history.compact import compact, drop_wal
from chaoskit.history.faults import compact_faults
from chaoskit.history.origin import write_origin
from chaoskit.judge.judging import check_run
from chaoskit.judge.verdict import Verdict
from chaoskit.report.run_page import try_report
from chaoskit.run.conductor import Conductor
from chaoskit.run.fleet import Client, Fleet
from chaoskit.scenario.plan import Plan, check_machine

INTERRUPTED = "interrupted before the load's declared end"
"""Among the reasons of a verdict: the user ended the load."""

_TICK_S = 0.2
_AUDIT_TIMEOUT_S = 600
_STOP_TIMEOUT_S = 60


class Watcher(Protocol):
    """Where a run shows how far it is."""

    def phase(self, name: str) -> None:
        """A phase of the run begins."""
        ...

    def tell(self, line: str) -> None:
        """Something happened: a fault took effect, or was healed."""
        ...

    def tick(self, elapsed_s: float, progress: Progress, active: list[str]) -> None:
        """The load goes on: seconds since its start, sums over all clients, faults that hold."""
        ...


def run(plan: Plan, store_folder: Path, watcher: Watcher, *, keep: bool = False) -> tuple[Path, Verdict]:
    """Execute a plan; return the run folder and its verdict.

    Args:
        plan: see `chaoskit.scenario.plan.make_plan`.
        store_folder: where run folders are kept.
        watcher: told about progress.
        keep: leave the hosts running afterwards; `chaoskit heal` ends them.

    Raises:
        BadInput: the machine or the system refuses; nothing is left behind.
        RunFailed: the run broke; the message names the run folder.
    """
    with _naming(plan.source):
        check_machine(plan)
    folder = store.new_run_folder(store_folder, plan.scenario.name)
    store.write_yaml(folder / store.SCENARIO, plan.resolved())
    try:
        with _naming(plan.source):
            _Run(plan, folder, watcher, keep).execute()
        watcher.phase("check")
        verdict = check_run(folder)
        if why_not := try_report(folder):
            watcher.tell(why_not)
        return folder, verdict
    except BadInput:
        store.discard(folder)
        raise
    except ChaoskitError as error:
        raise RunFailed(f"{error}\nrun folder, with logs and what was recorded: {folder}") from error


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Put the file into errors that blame one of its keys."""
    try:
        yield
    except BadInput as error:
        blames_key = str(error).startswith(("cluster.", "workload.", "faults."))
        raise BadInput(f"{source}: {error}" if blames_key else str(error)) from error


class _Run:
    """The state of one run between its phases."""

    def __init__(self, plan: Plan, folder: Path, watcher: Watcher, keep: bool) -> None:
        self.plan = plan
        self.folder = folder
        self.watcher = watcher
        self.keep = keep
        self.origin_ns = write_origin(folder / "wal")
        self.interrupted = threading.Event()
        self.load_start_ns = 0
        self.problems: list[str] = []

    def execute(self) -> None:
        with Journal(f"run-{os.getpid()}-{self.folder.name}") as journal, self._signals():
            self.watcher.phase("hosts")
            lab = self._provision(journal)
            try:
                self._with_hosts(journal, lab)
            finally:
                self._end(lab, journal)

    def _end(self, lab: Lab, journal: Journal) -> None:
        """Keep what was recorded and remove the hosts, each whatever becomes of the other."""
        try:
            try:
                lab.keep(self.folder / store.RECORDINGS)
            finally:
                if self.keep:
                    self.watcher.tell("hosts are kept; `chaoskit heal` ends them. To look: " + "; ".join(lab.access()))
                else:
                    lab.close()
                    journal.close()
        finally:
            self._keep_recorded()

    def _provision(self, journal: Journal) -> Lab:
        try:
            return self.plan.provider.provision(
                journal, self.plan.scenario.cluster.hosts, self.plan.provider_options, self.plan.powers_needed
            )
        except ChaoskitError:
            journal.close()
            raise

    def _with_hosts(self, journal: Journal, lab: Lab) -> None:
        self.watcher.phase("deploy")
        cluster = self.plan.system.deploy(lab.hosts, self.plan.system_options)
        try:
            self._bring_up(cluster)
            self._with_cluster(journal, cluster)
        finally:
            _collect_logs(cluster, self.folder)
            cluster.close()

    def _bring_up(self, cluster: Cluster) -> None:
        with ThreadPoolExecutor(len(cluster.hosts)) as pool:
            list(pool.map(cluster.start, cluster.hosts))
        self.watcher.phase("ready")
        cluster.wait_ready(self.plan.scenario.cluster.ready_within / 1e9)
        for topic in self.plan.workload.topics(self.plan.workload_options, self.plan.declared.brokers):
            cluster.create_topic(topic)
        if self.plan.scenario.cluster.sync:
            # Formatting tools do not fsync everything; a power cut soon after would test set-up, not the load.
            for host in cluster.hosts:
                host.run(["sync", "-f", host.data_dir])

    def _with_cluster(self, journal: Journal, cluster: Cluster) -> None:
        fleet = Fleet(self.folder, journal, self._order(cluster))
        try:
            self._drive(fleet, cluster)
        finally:
            fleet.stop(fleet.clients)
            fleet.join(fleet.clients, _STOP_TIMEOUT_S)

    def _drive(self, fleet: Fleet, cluster: Cluster) -> None:
        self.watcher.phase("clients")
        clients = fleet.launch(self.plan.workload.tasks(self.plan.workload_options))
        producers = [client for client in clients if client.worker.task.role == PRODUCER]
        conductor = Conductor(
            self.plan, cluster, clients, self.folder, origin_ns=self.origin_ns, tell=self.watcher.tell
        )
        self.watcher.phase("load")
        start_ns = fleet.go(clients)
        self.load_start_ns = start_ns - self.origin_ns
        conductor.start(start_ns)
        self._wait_for_load(fleet, conductor, start_ns)
        conductor.load_is_over()
        fleet.stop(producers)
        if self.interrupted.is_set():
            conductor.heal_now()
        self.watcher.phase("heal")
        conductor.join()
        liveness = self._recover(fleet, cluster, producers)
        fleet.stop(clients)
        self.problems += fleet.join(clients, _STOP_TIMEOUT_S)
        store.write_json(
            self.folder / store.RECOVERY,
            {**liveness, "load_start_ns": self.load_start_ns, "problems": self.problems},
        )

    def _wait_for_load(self, fleet: Fleet, conductor: Conductor, start_ns: int) -> None:
        end_ns = start_ns + self.plan.scenario.workload.duration
        while time.monotonic_ns() < end_ns and not self.interrupted.wait(_TICK_S):
            elapsed_s = (time.monotonic_ns() - start_ns) / 1e9
            self.watcher.tick(elapsed_s, fleet.progress(), list(conductor.active.values()))
            if failures := fleet.failures():
                self.problems += failures
                self.watcher.tell("; ".join(failures))
                break
        if self.interrupted.is_set():
            self.problems.append(INTERRUPTED)

    def _recover(self, fleet: Fleet, cluster: Cluster, producers: list[Client]) -> dict[str, Any]:
        """Wait until the healed cluster is whole, then probe it and read everything."""
        self.watcher.phase("recover")
        bound_ns = self.plan.scenario.recovery
        began = time.monotonic()
        try:
            cluster.wait_ready(bound_ns / 1e9)
            whole = True
        except (ClusterError, HostError) as error:
            self.problems.append(str(error))
            whole = False
        took_s = time.monotonic() - began
        self.problems += fleet.join(producers, _STOP_TIMEOUT_S)
        self.watcher.phase("final read")
        auditors = fleet.launch([Task(AUDITOR, 0)])
        fleet.go(auditors)
        self.problems += fleet.join(auditors, _AUDIT_TIMEOUT_S)
        accepted = auditors[0].worker.result.get("accepted", False)
        if whole and not accepted:
            self.problems.append("a partition did not accept a message after healing")
        return {"recovered": whole and accepted, "bound_s": bound_ns / 1e9, "took_s": round(took_s, 3)}

    def _order(self, cluster: Cluster) -> dict[str, Any]:
        scenario = self.plan.scenario
        return {
            "system": scenario.cluster.system,
            "workload": scenario.workload.kind,
            "options": self.plan.workload_options.model_dump(mode="json", by_alias=True),
            "connection": cluster.client_settings(),
            "wal": str(self.folder / "wal"),
            "run_id": secrets.randbits(63),
            "bound_ns": scenario.recovery,
        }

    def _keep_recorded(self) -> None:
        """Turn the write-ahead log into the history; it stays as it is if that fails."""
        compact_faults(self.folder)
        compact(self.folder)
        drop_wal(self.folder)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Let Ctrl-C, or SIGTERM, end the load early; a second one gives up."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            self.interrupted.set()
            self.watcher.tell("interrupted: healing, then checking what there is (again to give up)")

        before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _collect_logs(cluster: Cluster, folder: Path) -> None:
    def collect(host: ServiceHost) -> None:
        for service in cluster.services(host):
            try:
                host.get(host.log_path(service), folder / "logs" / host.name / f"{service}.log")
            except (ChaoskitError, OSError) as error:
                missing = folder / "logs" / host.name / f"{service}.missing"
                missing.parent.mkdir(parents=True, exist_ok=True)
                missing.write_text(f"{error}\n", encoding="utf-8")

    with ThreadPoolExecutor(len(cluster.hosts)) as pool:
        list(pool.map(collect, cluster.hosts))
