"""Clusters that several runs share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Unpack

from chaoskit.base.errors import BadInput, nearest
from chaoskit.run.live.lease import Lease
from chaoskit.run.live.plans import LivePlan
from chaoskit.run.site import Site
from chaoskit.scenario.model import merge
from chaoskit.scenario.typed import Cluster, ClusterKeys
from chaoskit.testing.live import LiveCluster, LiveKeys, Up
from chaoskit.testing.showing import PrintedLines

Scope = Literal["function", "class", "module", "package", "session"]


@dataclass(frozen=True, slots=True)
class SharedCluster:
    """A cluster shared by several runs, as long as each restores it; see `chaos_cluster`.

    Attributes:
        spec: `cluster:` of the scenarios.
        site: holds the deployment.
        name: of live clusters, unless they say another one.
        seed: of live clusters, over what they say.
        lives: the live clusters that are up.
    """

    spec: Mapping[str, Any]
    site: Site
    name: str = "live"
    seed: int | None = None
    lives: list[LiveCluster] = field(default_factory=list)

    def __call__(self, **changes: Any) -> SharedCluster:
        """Return the same cluster with some keys changed; if these require another deployment, a new one is made."""
        return replace(self, spec=merge(self.spec, changes))

    def up(self, **keys: Unpack[LiveKeys]) -> Up:
        """Return a block in which it is up, without a load: `with cluster.up() as live:`.

        Raises:
            BadInput: at the begin of the block: the machine or the system does not support it.
            RunFailed: at the begin: it did not start; at the end: a fault is not healed.
        """
        if unknown := sorted(keys.keys() - LiveKeys.__annotations__.keys()):
            raise BadInput(f"up: {unknown[0]}: unknown key; {nearest(unknown[0], LiveKeys.__annotations__)}")
        name = keys.get("name", self.name)

        def lease() -> Lease:
            plan = LivePlan.of(
                self.spec,
                name,
                name,
                seed=keys.get("seed") if self.seed is None else self.seed,
                recovery=keys.get("recovery", "60s"),
                producer=keys.get("producer"),
                consumer=keys.get("consumer"),
                faults=keys.get("faults", ()),
                expect=keys.get("expect"),
            )
            return Lease(self.site, plan, PrintedLines())

        return Up(lease, self.lives)


class ShareCluster(Protocol):
    """The fixture `chaos_cluster`."""

    def __call__(self, *, scope: Scope | None = None, **spec: Unpack[ClusterKeys]) -> SharedCluster:
        """Return the cluster with these keys that the tests of a scope share; by default the scope is that of the
        fixture that asks, or the test."""
        ...


def live_cluster(
    cluster: Cluster, *, store: Path | str = "chaos-store", keep: bool = False, **keys: Unpack[LiveKeys]
) -> Up:
    """Return a block in which a cluster of its own is up: `with live_cluster({"system": "kafka"}) as live:`.

    Args:
        cluster: as in a scenario.
        store: where the run folder is kept.
        keep: leave the hosts running at the end; `chaoskit heal` stops them.
        keys: see `LiveKeys`.
    """
    return SharedCluster(cluster, Site(Path(store), keep=keep, shared=False)).up(**keys)
