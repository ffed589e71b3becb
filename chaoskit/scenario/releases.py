"""`cluster.version: latest`: the newest release that can be had. It takes the place of the word, so that the record of
the run has it."""

from __future__ import annotations

from functools import cache

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract import installed
from chaoskit.contract.systems.releasing import LATEST, Releasing
from chaoskit.scenario.model import ClusterSpec, Scenario

_VERSION = "version"
_KEY = f"cluster.{_VERSION}: {LATEST}"


def with_newest(scenario: Scenario, problems: Problems) -> Scenario:
    """Return a scenario with the newest release, if it asks for it; with the default release, so that the rest can be
    checked, if the newest one cannot be found out, which is then a problem."""
    cluster = scenario.cluster
    if (cluster.model_extra or {}).get(_VERSION) != LATEST:
        return scenario
    others = {key: value for key, value in cluster.model_dump(exclude_unset=True).items() if key != _VERSION}
    newest = problems.tried(_newest_for, cluster)
    content = others if newest is None else {**others, _VERSION: newest}
    return scenario.model_copy(update={"cluster": ClusterSpec.model_validate(content)})


def _newest_for(cluster: ClusterSpec) -> str:
    if cluster.attach:
        raise BadInput(f"{_KEY}: a cluster that runs already has the release that it has; remove the key")
    return _newest(cluster.system)


@cache
def _newest(name: str) -> str:
    """Return the newest release of a system; asked once, so that all runs of a sweep have the same."""
    system = installed.ready_system(name, "cluster.system")
    if not isinstance(system, Releasing):
        raise BadInput(f"{_KEY}: {name} does not say which releases there are; write one, or remove the key")
    return system.newest()
