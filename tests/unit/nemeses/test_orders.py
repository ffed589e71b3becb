"""What operators order takes effect, or the fault says that it did not; real clusters: scenarios of Kafka."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaoskit.base import plugins
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.model.place import Place
from nemeses import access, certificates, quotas, voters

HOSTS = [SimpleNamespace(name="n1"), SimpleNamespace(name="n2")]
PLACE: Place = ("log-0", 0)


class Operated:
    """A cluster of which one operator's order at a time is not carried out: the one that is named."""

    hosts = HOSTS

    def __init__(self, deaf: str = "") -> None:
        self._deaf = deaf
        self._replicas = {host.name: ["log-0/0"] for host in HOSTS}
        self._voters = ["n1", "n2"]
        self._folders = {"log-0/0": "one"}
        self._first, self.end = 10, 110
        self._committed = {PLACE: 50}
        self._denied: set[str] = set()
        self._refusal = ""
        self._limits: dict[str, int | None] = {}
        self._partitions = 3

    def power(self, _: type) -> Any:
        return self

    def answers(self, host: Any) -> bool:
        return True

    def replicas_on(self, host: Any) -> tuple[str, ...]:
        return tuple(self._replicas[host.name])

    def shed(self, host: Any) -> None:
        if self._deaf != "shed":
            self._replicas[host.name] = []

    def refill(self, host: Any) -> None:
        if self._deaf != "refill":
            self._replicas[host.name] = ["log-0/0"]

    def voters(self) -> tuple[str, ...]:
        return tuple(self._voters)

    def remove_voter(self, host: Any) -> None:
        if self._deaf != "remove_voter":
            self._voters.remove(host.name)

    def add_voter(self, host: Any) -> None:
        if self._deaf != "add_voter":
            self._voters.append(host.name)

    def directories_on(self, host: Any) -> dict[str, str]:
        return dict(self._folders)

    def move_between_directories(self, host: Any) -> None:
        if self._deaf != "move_between_directories":
            self._folders["log-0/0"] = "two"

    def logs_led_by(self, host: Any) -> list[Place]:
        return [PLACE]

    def bounds(self, places: list[Place]) -> dict[Place, tuple[int, int]]:
        return {PLACE: (self._first, self.end)}

    def delete_before(self, positions: dict[Place, int]) -> None:
        if self._deaf != "delete_before":
            self._first = positions[PLACE]

    def committed(self) -> dict[Place, int]:
        return dict(self._committed)

    def aim(self, position: str | int) -> dict[Place, int]:
        return {PLACE: {"earliest": 10, "latest": 110}.get(str(position), 50)}

    def commit(self, positions: dict[Place, int]) -> None:
        if self._deaf != "commit":
            self._committed = dict(positions)

    def withdraw(self, action: str) -> None:
        if self._deaf != "withdraw":
            self._denied.add(action)

    def give_back(self, action: str) -> None:
        if self._deaf != "give_back":
            self._denied.discard(action)

    def expire(self, host: Any) -> None:
        if self._deaf != "expire":
            self._refusal = "certificate has expired"

    def renew(self, host: Any) -> None:
        if self._deaf != "renew":
            self._refusal = ""

    def refusal(self, host: Any) -> str:
        return self._refusal

    def limit(self, client: str, action: str, rate: int | None) -> None:
        if self._deaf != ("free" if rate is None else "limit"):
            self._limits[client] = rate

    def partitions_known_to(self, host: Any) -> dict[str, int]:
        return {"log-0": self._partitions}

    def add_partitions(self, count: int) -> None:
        if self._deaf != "add_partitions":
            self._partitions = count

    def throttled(self, client: str, action: str) -> dict[str, int]:
        return {"n1": 300 if self._limits.get(client) else 0, "n2": 0}

    def allowed(self, action: str) -> dict[str, bool]:
        return {"log-0": action not in self._denied}


class Member:
    """A client that leaves when it is told to."""

    name, pid = "consumer-0", 1

    def __init__(self) -> None:
        self._running = True

    def running(self) -> bool:
        return self._running

    def left(self) -> bool:
        return not self._running

    def leave(self) -> None:
        self._running = False

    def crash(self) -> None:
        self._running = False

    def restart(self) -> None:
        self._running = True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_KNOWN_WITHIN_S", 0)
    monkeypatch.setattr(certificates, "_KNOWN_WITHIN_S", 0)
    monkeypatch.setattr(quotas, "_THROTTLED_WITHIN_S", 0)
    monkeypatch.setattr(quotas, "_FREE_WITHIN_S", 0)
    monkeypatch.setattr(voters, "_VOTED_WITHIN_S", 0)


def _struck(kind: str, cluster: Operated, **parameters: Any) -> tuple[Nemesis, Strike]:
    fault: Nemesis = plugins.load("nemesis", kind, "faults.inject")
    of_clients = fault.hits == "clients"
    strike = Strike(
        name=f"0-{kind}",
        hosts=[] if of_clients else cast("Any", HOSTS if kind == "withdraw-access" else HOSTS[:1]),
        clients=[cast("Any", Member())] if of_clients else [],
        service=cast("Any", cluster),
        lab=[],
        parameters=fault.parameters.model_validate(parameters),
        seed=0,
        resolve=lambda _: [],
    )
    return fault, strike


ORDERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "reduce-replicas": ("shed", {}, "1 replicas removed from n1"),
    "remove-voter": ("remove_voter", {}, "n2 vote without n1"),
    "move-log-dirs": ("move_between_directories", {}, "1 replicas moved to other log directories of n1"),
    "delete-records": ("delete_before", {"share": 0.5}, "log-0/0 begins at 60"),
    "add-partitions": ("add_partitions", {"count": 6}, "log-0: 6 partitions, each with a leader"),
    "reset-offsets": (
        "commit",
        {"position": "earliest"},
        "the group goes on at 10 of log-0/0 instead of 50 of log-0/0",
    ),
    "withdraw-access": ("withdraw", {"action": "send"}, "clients may not send: log-0"),
    "client-quota": ("limit", {"action": "send", "rate": "10kB"}, "consumer-0 is held back by n1 for 300 ms"),
    "expire-certificates": ("expire", {}, "n1: certificate has expired"),
}


@pytest.mark.parametrize("kind", ORDERS)
def test_what_was_ordered_is_measured(kind: str) -> None:
    _, parameters, evidence = ORDERS[kind]
    fault, strike = _struck(kind, Operated(), **parameters)

    fault.inject(strike)
    assert str(fault.verify(strike)).startswith(evidence)
    fault.heal(strike)
    fault.verify_healed(strike)


@pytest.mark.parametrize("kind", ORDERS)
def test_an_order_without_effect_is_no_fault(kind: str) -> None:
    deaf, parameters, _ = ORDERS[kind]
    fault, strike = _struck(kind, Operated(deaf), **parameters)

    fault.inject(strike)
    with pytest.raises(NemesisError):
        fault.verify(strike)


@pytest.mark.parametrize(
    ("kind", "deaf", "parameters"),
    [
        ("reduce-replicas", "refill", {}),
        ("remove-voter", "add_voter", {}),
        ("withdraw-access", "give_back", {"action": "receive"}),
        ("client-quota", "free", {"action": "receive", "rate": "1kB"}),
        ("expire-certificates", "renew", {}),
    ],
)
def test_what_was_not_taken_back_is_not_healed(kind: str, deaf: str, parameters: dict[str, Any]) -> None:
    fault, strike = _struck(kind, Operated(deaf), **parameters)

    fault.inject(strike)
    fault.verify(strike)
    fault.heal(strike)
    with pytest.raises(NemesisError):
        fault.verify_healed(strike)


def test_what_was_deleted_and_reset_is_recorded() -> None:
    deletion, deleting = _struck("delete-records", Operated(), share=0.25)
    reset, resetting = _struck("reset-offsets", Operated(), position="latest")
    for fault, strike in ((deletion, deleting), (reset, resetting)):
        fault.inject(strike)
        fault.verify(strike)

    assert deleting.deleted == {PLACE: 35}
    assert resetting.reset == {PLACE: (50, 110)}


def test_a_reset_to_where_the_group_is_anyway_is_no_fault() -> None:
    fault, strike = _struck("reset-offsets", Operated(), position=0)

    with pytest.raises(NemesisError, match="goes on where it would have anyway"):
        fault.inject(strike)


def test_a_topic_that_has_as_many_partitions_is_given_none() -> None:
    fault, strike = _struck("add-partitions", Operated(), count=3)

    with pytest.raises(NemesisError, match="log-0 has 3 partitions already; set count to more"):
        fault.inject(strike)


def test_of_an_empty_log_nothing_is_deleted() -> None:
    cluster = Operated()
    cluster.end = 10
    fault, strike = _struck("delete-records", cluster, share=1)

    with pytest.raises(NemesisError, match="led no log of the workload of which something could be deleted"):
        fault.inject(strike)


def test_rights_are_withdrawn_everywhere() -> None:
    fault, strike = _struck("withdraw-access", Operated(), action="send")

    with pytest.raises(NemesisError, match="also by n2; write on: all"):
        fault.inject(strike.on(cast("Any", HOSTS[:1])))


def test_who_does_not_vote_is_not_made_a_voter_by_healing() -> None:
    cluster = Operated()
    cluster.remove_voter(HOSTS[0])
    fault, strike = _struck("remove-voter", cluster)

    with pytest.raises(NemesisError, match="no voters: n1"):
        fault.inject(strike)
    fault.heal(strike)
    assert cluster.voters() == ("n2",)
