"""A RabbitMQ with TLS that runs already, on machines of somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from remote.machines import machines
from remote.rabbitmq import PACKAGES, PASSWORD, Theirs

pytestmark = [pytest.mark.chaos, pytest.mark.long]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    nothing = tmp_path_factory.mktemp("nothing")
    with machines(tmp_path_factory.mktemp("theirs"), 3, nothing, PACKAGES) as theirs:
        yield Theirs(theirs)


@pytest.fixture
def theirs(running: Theirs, monkeypatch: pytest.MonkeyPatch) -> Theirs:
    monkeypatch.setenv("RABBIT_PASSWORD", PASSWORD)
    running.wait_whole()
    return running


def _attached(theirs: Theirs, **more: Any) -> dict[str, Any]:
    return {"system": "rabbitmq", "version": "4.0.5", "attach": theirs.attach, **more}


@pytest.mark.parametrize(("confirms", "lost"), [(True, "none"), (False, "some")])
def test_their_leader_is_killed(theirs: Theirs, chaos: Any, confirms: bool, lost: str) -> None:
    before = theirs.machines.listing()

    run = chaos(
        cluster=_attached(theirs, inventory=theirs.inventory),
        workload={"kind": "queue", "type": "quorum", "confirms": confirms, "rate": 2000, "duration": "15s"},
        faults=[{"at": "4s", "inject": "kill", "on": "leader", "for": "3s"}],
        expect={"lost": lost},
    )

    run.assert_valid()
    assert theirs.queues() == [], "its queues are gone"
    assert theirs.machines.listing() == before
    files = [path for path in run.folder.rglob("*") if path.is_file() and "logs" not in path.parts]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


def test_their_leader_is_cut_off(theirs: Theirs, chaos: Any) -> None:
    run = chaos(
        cluster=_attached(theirs, inventory=theirs.inventory),
        workload={"kind": "queue", "type": "quorum", "rate": 500, "duration": "12s"},
        faults=[{"at": "3s", "inject": "partition", "on": "leader", "peers": "hosts", "for": "5s"}],
    )

    run.assert_valid()


def test_their_classic_queue_is_tested_without_their_hosts(theirs: Theirs, chaos: Any) -> None:
    run = chaos(cluster=_attached(theirs), workload={"kind": "queue", "type": "classic", "rate": 500, "duration": "4s"})

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


def test_what_their_cluster_is_counts(theirs: Theirs, chaos: Any) -> None:
    load = {"kind": "queue", "type": "quorum", "duration": "2s"}

    def refused(why: str, workload: Any = load, **given: Any) -> None:
        with pytest.raises(Exception, match=why):
            chaos(cluster={**_attached(theirs), **given}, workload=workload)

    refused(r"cluster\.version: the nodes run 4\.0\.5, not 4\.3\.6; write version: 4\.0\.5", version="4.3.6")
    refused(r"cluster\.hosts: the cluster has 3 nodes; write hosts: 3", hosts=5)
    refused(
        r"cluster\.attach\.hosts: the cluster has further nodes: rabbit@k",
        attach={**theirs.attach, "hosts": theirs.attach["hosts"][:2]},
    )
    refused(r"cluster\.attach\.password: a scenario is stored with each run", attach={**theirs.attach, "password": "x"})
    refused(
        r"cluster\.attach\.hosts: .*CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        attach={**theirs.attach, "ca": ""},
    )
    refused(r"cluster\.policy: would change queues of others", policy={"max-length": 5})
    refused(
        r"workload\.type: in an existing RabbitMQ cluster", workload={"kind": "log", "type": "stream", "duration": "2s"}
    )
    refused(r"cluster\.metadata: the nodes use mnesia; write that", metadata="khepri")
