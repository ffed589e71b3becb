"""Roles are names of hosts, found from what brokers and ZooKeeper say."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.deploy.admin import TopicState
from clusters.pulsar.roles import PulsarRoles
from clusters.pulsar.settings import ROLES, PulsarOptions
from clusters.zookeeper import probe


class FakeHost:
    """A host with a name and an address."""

    def __init__(self, index: int) -> None:
        self.name, self.address = f"n{index}", f"10.0.0.{index}"


class FakeAdmin:
    """The admin API of a cluster with one partition, owned by n2, its ledger on n1, n2 and n4."""

    ensemble: tuple[str, ...] = ("10.0.0.1", "10.0.0.2", "10.0.0.4")

    def owner(self, topic: str, partition: int, timeout_s: float) -> str:
        return "10.0.0.2"

    def state(self, topic: str, partition: int, timeout_s: float) -> TopicState:
        return TopicState(True, 0, self.ensemble)

    def load_manager_leader(self, timeout_s: float) -> str:
        return "10.0.0.3"


DUMP = """\
SessionTracker dump:
ephemeral nodes dump:
Sessions with Ephemerals (3):
0x100000a3f3c0001:
\t/ledgers/available/10.0.0.1:3181
0x100000a3f3c0002:
\t/ledgers/available/readonly/10.0.0.2:3181
\t/loadbalance/brokers/10.0.0.2:8080
0x100000a3f3c0003:
\t/ledgers/available/10.0.0.3:3181
Connections dump:
"""


@pytest.fixture
def roles(monkeypatch: pytest.MonkeyPatch) -> PulsarRoles:
    def word(address: str, asked: str, timeout_s: float) -> str:
        if address == "10.0.0.1":
            raise TimeoutError("paused")
        mode = "leader" if address == "10.0.0.3" else "follower"
        return DUMP if asked == "dump" else f"Mode: {mode}\n"

    monkeypatch.setattr(probe, "zookeeper_word", word)
    hosts: Any = [FakeHost(index) for index in range(1, 5)]
    admin: Any = FakeAdmin()
    return PulsarRoles(hosts, PulsarOptions().place(4), admin)


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("owner", ("n2",)),
        ("leader", ("n2",)),
        ("ensemble", ("n1", "n2", "n4")),
        ("outside", ("n3",)),
        ("zookeeper-leader", ("n3",)),
        ("load-manager-leader", ("n3",)),
        ("zookeepers", ("n1", "n2", "n3")),
        ("bookies", ("n1", "n2", "n3", "n4")),
        ("brokers", ("n1", "n2", "n3", "n4")),
    ],
)
def test_a_role_is_held_by(roles: PulsarRoles, role: str, names: tuple[str, ...]) -> None:
    assert role in ROLES
    assert roles.find(role, ("log-0", 0)) == names


def test_bookies_that_only_read_are_not_registered_as_writable(roles: PulsarRoles) -> None:
    assert roles.registered_bookies() == {"10.0.0.1", "10.0.0.3"}


@pytest.mark.parametrize(
    ("ensemble", "role", "refusal"),
    [
        (
            ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"),
            "outside",
            "every bookie is in the ensemble of log-0/0: add",
        ),
        ((), "ensemble", "log-0/0 has no current ledger"),
        (("10.0.0.9",), "ensemble", r"no host of the lab has the address 10\.0\.0\.9"),
    ],
)
def test_a_role_that_nobody_holds_is_an_error(
    roles: PulsarRoles, monkeypatch: pytest.MonkeyPatch, ensemble: tuple[str, ...], role: str, refusal: str
) -> None:
    monkeypatch.setattr(FakeAdmin, "ensemble", ensemble)

    with pytest.raises(ServiceError, match=refusal):
        roles.find(role, ("log-0", 0))


def test_a_zookeeper_without_a_leader_is_an_error(roles: PulsarRoles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "zookeeper_word", lambda *_: "This instance is not currently serving requests\n")

    with pytest.raises(ServiceError, match="ZooKeeper currently has no leader"):
        roles.find("zookeeper-leader", None)
    assert roles.registered_bookies() == set()
