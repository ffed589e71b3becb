"""A live trial with the deployment that it is on: from its run folder to its verdict."""

from __future__ import annotations

from chaoskit.base import owner, store
from chaoskit.base.errors import BadInput, ChaoskitError, RunFailed
from chaoskit.contract.event import PhaseBegun, Problem, Watcher
from chaoskit.history.compacting.compact import drop_wal
from chaoskit.history.compacting.finish import finish
from chaoskit.history.format.segment import room_in
from chaoskit.judge.verdict.check import check_run
from chaoskit.report.run_page import try_report
from chaoskit.run.interruption import TooEarly, interruptible
from chaoskit.run.live.plans import LivePlan
from chaoskit.run.live.trial import LiveTrial
from chaoskit.run.site import Opened, Site


class Lease:
    """A live trial on a deployment of a site, which nobody else uses meanwhile.

    Args:
        site: has the deployment, or makes it.
        plan: what is wanted.
        watcher: receives the events.

    Raises:
        BadInput: the machine or the system does not support it; nothing is left behind.
        RunFailed: the cluster did not start; the message names the run folder.
        KeyboardInterrupt: the user ended it.

    Attributes:
        trial: the trial.
    """

    def __init__(self, site: Site, plan: LivePlan, watcher: Watcher) -> None:
        self._site = site
        cluster = plan.now.scenario.cluster
        if cluster.attach:
            raise BadInput(f"{plan.source}: cluster.attach: a live cluster is made for the test; remove it")
        needed = plan.standing.host_powers_needed
        plan.now.provider.check(cluster.lab_size, plan.now.provider_options, needed)
        self._opened: Opened = site.open(plan.now, watcher)
        _, folder, origin_ns, log = self._opened
        try:
            with room_in(folder), interruptible(lambda: None):
                deployment = site.hold(plan.standing, log)
                self.trial: LiveTrial = LiveTrial(plan, deployment, folder, origin_ns=origin_ns, watcher=log)
        except BadInput:
            self._let_go(restored=False)
            store.discard(folder)
            raise
        except TooEarly:
            self._let_go(restored=False)
            raise KeyboardInterrupt(f"interrupted before the cluster was up. Logs: {folder}") from None
        except ChaoskitError as error:
            self._let_go(restored=False)
            raise RunFailed(f"{error}\nrun folder with logs: {folder}") from error
        except BaseException:
            self._let_go(restored=False)
            raise
        log.on(PhaseBegun("live"))

    def close(self, *, hurry: bool = False) -> None:
        """Heal, recover, judge, and give the deployment back.

        Args:
            hurry: do not wait for the recovery, and do not judge; `chaoskit check` does that later.

        Raises:
            ChaoskitError: a fault is not healed, or something was not saved.
        """
        folder, log, unhealed = self._opened.folder, self._opened.log, [""]
        try:
            with room_in(folder):
                unhealed = self.trial.end(hurry=hurry)
        finally:
            self._let_go(restored=not unhealed and self.trial.restored)
        with room_in(folder):
            finish(folder)
            drop_wal(folder)
        if not hurry:
            log.on(PhaseBegun("check"))
            check_run(folder)
            if why_not := try_report(folder):
                log.on(Problem(why_not))
        owner.give_all(folder)
        if unhealed:
            raise RunFailed(f"{unhealed[0]}. Run folder: {folder}")

    def _let_go(self, *, restored: bool) -> None:
        self._site.let_go(self._opened.folder, self._opened.log, restored=restored)
        owner.give_all(self._opened.folder)
