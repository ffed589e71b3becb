"""Runs from Python: the object behind the `chaos` fixture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from chaoskit.run.site import Site
from chaoskit.scenario.model import Scenario
from chaoskit.scenario.plan import Plan, make_plan, read_plan
from chaoskit.scenario.typed import Cluster, Expect, Fault, MoreKeys, Workload
from chaoskit.testing.result import Run
from chaoskit.testing.shared import SharedCluster
from chaoskit.testing.showing import PlainErrors, PrintedLines


@dataclass(frozen=True, slots=True)
class Settings:
    """Where runs are kept, their seed (None: a random one each), and whether hosts are left running."""

    store: Path
    seed: int | None = None
    keep: bool = False


class ChaosSession:
    """Runs scenarios for one test.

    Args:
        settings: from pytest's command line, or your own.
        name: name for runs without a name.
        source: source named in errors about scenarios.
    """

    def __init__(self, settings: Settings, name: str, source: str) -> None:
        self._settings = settings
        self._name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self._source = source
        self.runs: list[Run] = []

    def __call__(
        self,
        *,
        cluster: Cluster | SharedCluster,
        workload: Workload,
        faults: Sequence[Fault] = (),
        expect: Expect | None = None,
        **more: Unpack[MoreKeys],
    ) -> Run:
        """Run a scenario, with keys as in YAML, on its own cluster or on a shared one.

        Raises:
            BadInput: the scenario is invalid, or this machine cannot run it; nothing was started.
            RunFailed: the run failed; the message names the run folder.
            KeyboardInterrupt: the user ended the run, which is healed, judged and kept; pytest ends, too.
        """
        shared = cluster if isinstance(cluster, SharedCluster) else None
        content = {
            "name": self._name,
            "cluster": shared.spec if shared else cluster,
            "workload": workload,
            "faults": list(faults),
            "expect": expect or {},
            **more,
        }
        __tracebackhide__ = True
        return self._run(lambda: read_plan(content, self._source, self._settings.seed), shared.site if shared else None)

    def run_scenario(self, scenario: Scenario, source: str, site: Site | None = None) -> Run:
        """Run a parsed scenario at a site or on its own; raises like `__call__`."""
        __tracebackhide__ = True
        return self._run(lambda: make_plan(scenario, source, self._settings.seed), site)

    def _run(self, planned: Callable[[], Plan], site: Site | None) -> Run:
        __tracebackhide__ = True
        with PlainErrors():
            plan = planned()
            with nullcontext(site) if site is not None else self._own_site() as here:
                folder, verdict = here.run(plan, PrintedLines())
        self.runs.append(Run(folder, verdict))
        if here.interrupted:
            raise KeyboardInterrupt(f"interrupted; what was recorded is judged: {folder}")
        return self.runs[-1]

    def _own_site(self) -> Site:
        return Site(self._settings.store, keep=self._settings.keep, shared=False)
