"""A fault that took effect and was healed, and showed little all the same: the run says so, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paper import PaperCluster, PaperHost
from stage import MS, Stage

from chaoskit.contract.hosts.host import Doubt, DoubtfulCut, ServiceState


class SyncedHost(PaperHost):
    """A host with a power switch, of which somebody saves everything right before a cut."""

    synced_ns = 0

    def power_cut(self) -> None:
        self.seen = ServiceState.GONE

    def power_on(self) -> None:
        self.seen = ServiceState.RUNNING

    def reachable(self, timeout_s: float = 1) -> bool:
        return self.seen == ServiceState.RUNNING

    def prove_cut(self) -> str:
        raise DoubtfulCut("refused all writes", [Doubt(self.synced_ns, "somebody synced", "little was left")])


def test_a_cut_that_had_little_to_lose_is_no_failure_and_a_doubt_with_its_time(tmp_path: Path) -> None:
    cluster = PaperCluster()
    cluster.hosts[1] = host = SyncedHost("n2")
    cuts: list[dict[str, Any]] = [{"at": "1ms", "inject": "power-cut", "on": "n2", "for": "20ms"}]
    stage = Stage(tmp_path, cluster, cuts)
    host.synced_ns = stage.origin_ns + 12_300 * MS

    (fault,) = stage.perform()

    assert fault["healed_ns"] > fault["effective_ns"] > 1000 * MS
    assert "n2: refused all writes" in fault["evidence"]
    assert (stage.conductor.course.problems, stage.conductor.course.all_healed) == ([], True)
    assert stage.conductor.course.doubts == ["power-cut: somebody synced at 12.3 s: little was left"]
