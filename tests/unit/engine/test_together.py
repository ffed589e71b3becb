"""A fault of hosts of the system and of the database beside it hits both, and heals both."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper import PaperCluster, PaperHost
from stage import Stage

from chaoskit.contract.hosts.host import ServiceState
from chaoskit.contract.power import PowerMissing
from chaoskit.contract.systems.installation import Supervision
from chaoskit.contract.systems.service import Placing
from chaoskit.run.faults.together import Together


class PaperDatabase(PaperCluster):
    """A database on n3."""

    def __init__(self) -> None:
        super().__init__(0)
        self.hosts = [PaperHost("n3")]


@pytest.mark.parametrize("kind", ["kill", "power-cut"])
def test_a_fault_of_the_system_and_the_database_starts_both_again(tmp_path: Path, kind: str) -> None:
    cluster, database = PaperCluster(2), PaperDatabase()
    stage = Stage(tmp_path, cluster, [{"at": "1ms", "inject": kind, "on": ["n2", "n3"], "for": "20ms"}], (), database)

    (fault,) = stage.perform()

    assert fault["targets"] == ["n2", "n3"]
    assert "answering again: n2, n3" in fault["evidence"]
    assert stage.conductor.course.problems == []
    assert [host.seen for host in (*cluster.hosts, *database.hosts)] == [ServiceState.RUNNING] * 3
    assert stage.conductor.course.all_healed


def test_what_else_the_system_can_do_it_still_can() -> None:
    cluster = PaperCluster()
    both = Together(cluster, [PaperDatabase()])

    assert both.power(Placing) is cluster
    with pytest.raises(PowerMissing):
        both.power(Supervision)
