"""Runs from Python: the object behind the `chaos` fixture."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Unpack

from chaoskit.base import owner
from chaoskit.base.errors import BadInput, ChaoskitError, RunInterrupted, nearest
from chaoskit.base.plain import below, one_line
from chaoskit.contract import installed
from chaoskit.contract.event import Event
from chaoskit.judge.verdict.verdict import VALID, Found, Verdict
from chaoskit.report.junit import properties
from chaoskit.report.summary import summary
from chaoskit.report.telling import told
from chaoskit.run.site import Site
from chaoskit.scenario.model import Scenario, merge
from chaoskit.scenario.plan import Plan, make_plan, read_plan
from chaoskit.scenario.typed import Cluster, ClusterKeys, Expect, Fault, MoreKeys, Workload

_NOT_FOUND = Found(0, True, "none found")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where runs are kept, their seed (None: a random one each), and whether hosts are left running."""

    store: Path
    seed: int | None = None
    keep: bool = False


class Anomalies(Mapping[str, Found]):
    """The anomalies of a run by name. An anomaly that was not found has count 0; an unknown name is a KeyError."""

    def __init__(self, anomalies: Mapping[str, Found]) -> None:
        self._anomalies = anomalies

    def __getitem__(self, name: str) -> Found:
        if name not in installed.anomalies():
            raise KeyError(f"unknown anomaly {name!r}; {nearest(name, installed.anomalies())}")
        return self._anomalies.get(name, _NOT_FOUND)

    def __iter__(self) -> Iterator[str]:
        return iter(self._anomalies)

    def __len__(self) -> int:
        return len(self._anomalies)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and its verdict."""

    folder: Path
    verdict: Verdict

    @property
    def anomalies(self) -> Anomalies:
        """The anomalies found, by name."""
        return Anomalies(self.verdict.anomalies)

    @property
    def summary(self) -> str:
        """A text summary of the run, with evidence, seed, folder and the command that replays it."""
        return summary(self.verdict, self.folder)

    @property
    def properties(self) -> dict[str, str]:
        """What a CI system should show of the run: seed, counts, verdict, folder, replay command."""
        return properties(self.verdict, self.folder)

    def assert_valid(self) -> None:
        """Fail unless the verdict is valid.

        Raises:
            AssertionError: the message has the summary.
        """
        __tracebackhide__ = True
        if self.verdict.verdict != VALID:
            message = f"{self.verdict.headline}; the run is {self.verdict.verdict}: {self.verdict.reasons[0]}"
            raise AssertionError(f"{one_line(message)}\n{self.summary}")


@dataclass(frozen=True, slots=True)
class SharedCluster:
    """A cluster shared by several runs, as long as each restores it; see `chaos_cluster`.

    Attributes:
        spec: `cluster:` of the scenarios.
        site: holds the deployment.
    """

    spec: Mapping[str, Any]
    site: Site

    def __call__(self, **changes: Any) -> SharedCluster:
        """Return the same cluster with some keys changed; if these require another deployment, a new one is made."""
        return SharedCluster(merge(self.spec, changes), self.site)


class ShareCluster(Protocol):
    """The fixture `chaos_cluster`."""

    def __call__(
        self, *, scope: Literal["function", "module", "session"] = "function", **spec: Unpack[ClusterKeys]
    ) -> SharedCluster:
        """Return the cluster with these keys that the tests of a scope share."""
        ...


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
        try:
            plan = planned()
            with nullcontext(site) if site is not None else self._own_site() as here:
                folder, verdict = here.run(plan, _Lines())
        except PermissionError as error:
            raise owner.refused(error) from None
        except BadInput as error:
            raise BadInput(below(str(error))) from None  # without the frames of chaoskit, which say nothing to the user
        except RunInterrupted as error:
            raise KeyboardInterrupt(below(str(error))) from None
        except ChaoskitError as error:
            error.args = (below(str(error)),)  # pytest prints it
            raise
        self.runs.append(Run(folder, verdict))
        if here.interrupted:
            raise KeyboardInterrupt(f"interrupted; what was recorded is judged: {folder}")
        return self.runs[-1]

    def _own_site(self) -> Site:
        return Site(self._settings.store, keep=self._settings.keep, shared=False)


class _Lines:
    """Prints progress lines to stderr, which pytest shows if the test fails."""

    def on(self, event: Event) -> None:
        if line := told(event):
            sys.stderr.write(f"{one_line(line)}\n")
