"""Executes runs on one deployment at a time, which is reused for the next trial while it is as good as new."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from chaoskit.base import owner, store
from chaoskit.base.errors import BadInput, ChaoskitError, RunFailed, RunInterrupted
from chaoskit.contract.event import Interrupted, PhaseBegun, Problem, Watcher
from chaoskit.contract.systems.attach import Attaching
from chaoskit.history.compacting.compact import drop_wal
from chaoskit.history.compacting.finish import finish
from chaoskit.history.format.origin import write_origin
from chaoskit.history.format.segment import room_in
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.report.run_page import try_report
from chaoskit.run.deployment import Deployment
from chaoskit.run.eventlog import EventLog
from chaoskit.run.interruption import Interruption, TooEarly, interruptible
from chaoskit.run.trial import Trial
from chaoskit.scenario.machine import check_machine
from chaoskit.scenario.plan import Plan


class Opened(NamedTuple):
    """A run that was opened: its plan with the settings in effect, its folder, its start (CLOCK_MONOTONIC, ns), and the
    log of its events."""

    plan: Plan
    folder: Path
    origin_ns: int
    log: EventLog


class Site:
    """Executes runs; several may share a deployment if their plans allow it.

    A deployment is discarded after a trial that failed, was interrupted, or did not restore it.

    Args:
        store_folder: where run folders are kept.
        keep: leave hosts running at the end; `chaoskit heal` stops them.
        shared: keep a deployment for the next run.

    Attributes:
        interrupted: whether the user interrupted a run, also one whose load was over: it was the last one.
    """

    def __init__(self, store_folder: Path, *, keep: bool = False, shared: bool = True) -> None:
        self._store = store_folder
        self._keep = keep
        self._shared = shared
        self._deployment: Deployment | None = None
        self._held = False
        self._closing = False
        self.interrupted: bool = False

    def run(self, plan: Plan, watcher: Watcher) -> tuple[Path, Verdict]:
        """Execute a plan; return the run folder and its verdict.

        Args:
            plan: see `chaoskit.scenario.plan.make_plan`.
            watcher: receives the events.

        Raises:
            BadInput: the machine or the system does not support the plan; nothing is left behind.
            RunFailed: the run failed; the message names the run folder.
            RunInterrupted: the user ended it before its load began, or interrupted one that then failed, or the one
                before.
        """
        if not plan.workload.tasks(plan.workload_options):
            raise BadInput(
                f"{plan.source}: workload.kind: the clients of {plan.scenario.workload.kind} are the user's own; see "
                "docs/pytest.md, A live cluster"
            )
        plan, folder, origin_ns, log = self.open(plan, watcher)
        try:
            with room_in(folder), _naming(plan.source), interruptible(lambda: log.on(Interrupted())) as interrupted:
                try:
                    self._execute(plan, folder, log, origin_ns=origin_ns, interrupted=interrupted)
                finally:
                    self.interrupted = interrupted.is_set()
            log.on(PhaseBegun("check"))
            verdict = check_run(folder)
            if why_not := try_report(folder):
                log.on(Problem(why_not))
            return folder, verdict
        except BadInput:
            store.discard(folder)
            raise
        except TooEarly:
            raise RunInterrupted(
                f"interrupted before the load began: there is nothing to judge. Logs: {folder}"
            ) from None
        except ChaoskitError as error:
            failure = RunInterrupted if self.interrupted else RunFailed
            raise failure(f"{error}\nrun folder with logs and recorded history: {folder}") from error
        finally:
            if folder.exists():
                owner.give_all(folder)

    def open(self, plan: Plan, watcher: Watcher) -> Opened:
        """Check the machine, and make a run folder for a plan; raises like `run`."""
        if self.interrupted:
            raise RunInterrupted("interrupted: nothing else was started")
        if self._held:
            raise BadInput(f"{plan.source}: a live cluster is up on this deployment; end its block first")
        watcher.on(PhaseBegun("check the scenario"))
        check_machine(plan)
        plan = observed(plan)
        folder = store.new_run_folder(self._store, plan.scenario.name)
        store.write_yaml(folder / store.SCENARIO, plan.resolved())
        origin_ns = write_origin(folder / "wal")
        return Opened(plan, folder, origin_ns, EventLog(folder, origin_ns, watcher))

    def hold(self, plan: Plan, watcher: Watcher) -> Deployment:
        """Return a started deployment for a plan, which stays open until `let_go`."""
        self._held = True
        deployment = self._deployed(plan, watcher)
        deployment.start()
        return deployment

    def let_go(self, folder: Path, watcher: Watcher, *, restored: bool) -> None:
        """Save what was recorded on the deployment; keep it for the next run if it is as good as new.

        Args:
            folder: the run folder.
            watcher: receives the events.
            restored: see `Trial.restored`.
        """
        try:
            if self._deployment is not None:
                self._after(self._deployment, folder, watcher, restored=restored)
        finally:
            self._held = False
            if self._closing:
                self.close()

    def close(self) -> None:
        """Close the deployment, if there is one; one that is held is closed once it is let go."""
        self._closing = self._held
        if not self._held:
            self._discard()

    def _discard(self) -> None:
        if self._deployment is not None:
            deployment, self._deployment = self._deployment, None
            deployment.close()

    def __enter__(self) -> Site:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _execute(
        self, plan: Plan, folder: Path, watcher: Watcher, *, origin_ns: int, interrupted: Interruption
    ) -> None:
        try:
            deployment = self._deployed(plan, watcher)
            trial = Trial(plan, deployment, folder, origin_ns=origin_ns, watcher=watcher, interrupted=interrupted)
            try:
                deployment.start()
                trial.execute()
            finally:
                self._after(deployment, folder, watcher, restored=trial.restored)
        finally:
            # Compact the write-ahead logs into the history; if that fails, they are kept.
            finish(folder)
            drop_wal(folder)

    def _deployed(self, plan: Plan, watcher: Watcher) -> Deployment:
        if self._deployment is not None and not self._deployment.serves(plan):
            self._discard()
        if self._deployment is None:
            self._deployment = Deployment(plan, watcher, keep=self._keep)
        return self._deployment

    def _after(self, deployment: Deployment, folder: Path, watcher: Watcher, *, restored: bool) -> None:
        """Save what was recorded; then keep or close the deployment, even if saving failed."""
        reusable = False
        try:
            deployment.end_trial(watcher)
            recorded = deployment.collect(folder)
            if self._shared and restored and not recorded:
                with suppress(ChaoskitError):  # the next trial gets another deployment
                    deployment.service.end_trial()
                    reusable = True
        finally:
            if self._keep:
                self._deployment = None
                deployment.leave(watcher)
            elif not reusable:
                self._discard()


def observed(plan: Plan) -> Plan:
    """Return a plan with the settings that are in effect in a system that runs already.

    Raises:
        BadInput: the system cannot be reached, or has other settings than the scenario says.
    """
    spec = plan.scenario.cluster
    if not spec.attach or not isinstance(plan.system, Attaching):
        return plan
    with _naming(plan.source):
        options = plan.system.observe(spec.attach, spec.hosts, plan.system_options)
    return replace(plan, system_options=options, declared=replace(plan.declared, options=options))


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Prefix errors about a key with the name of the file."""
    try:
        yield
    except BadInput as error:
        blames_key = str(error).startswith(("cluster.", "workload.", "faults."))
        raise BadInput(f"{source}: {error}" if blames_key else str(error)) from error
