"""Every installed plug-in passes the suite that third parties' are held to, and each suite can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.guarantees.guarantee import Guarantees, Rule
from chaoskit.contract.hosts.host import Root
from chaoskit.contract.systems.operating import Leadership, Upgrade
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import PRODUCER, Task
from chaoskit.testing.conformance import check_clients, check_cluster, check_database, check_nemesis, check_workload
from clusters.kafka.system import KafkaSystem as Kafka
from clusters.postgresql import PostgreSQL
from nemeses.process import Kill
from workloads.log.workload import LogWorkload


@pytest.mark.parametrize("kind", plugins.names("nemesis"))
def test_a_nemesis_is_whole(kind: str) -> None:
    check_nemesis(kind)


@pytest.mark.parametrize("name", plugins.names("workload"))
def test_a_workload_is_whole(name: str) -> None:
    check_workload(name)


@pytest.mark.parametrize("name", plugins.names("cluster"))
def test_a_system_is_whole(name: str) -> None:
    check_cluster(name)


@pytest.mark.parametrize("name", plugins.names("database"))
def test_a_database_is_whole(name: str) -> None:
    check_database(name)


class _Changing(PostgreSQL):
    def __init__(self) -> None:
        self._count = 0

    def check(self, settings: Mapping[str, Any], key: str) -> None:
        raise BadInput(f"{key}.port: write one")

    def root(self) -> Root:
        self._count += 1
        return Root("trixie", {f"postgresql-{self._count}": ""})

    def diagnose(self) -> list[Any]:
        return ["well"]


def test_what_a_database_lacks_is_told() -> None:
    lines = _told(lambda: check_database(_Changing()))

    for words in (
        "it has no docstring",
        "`check` of no settings: BadInput: settings.port: write one",
        "`root` returns another one each time",
        "`diagnose` returns 'well'",
    ):
        assert words in lines
    assert "it has no `deploy`" in _told(lambda: check_database(object()))  # type: ignore[arg-type]


class _Loose(BaseModel):
    for_: str = ""
    inject: str = ""


class _Power:
    """No protocol."""


class _Sloppy(Nemesis):
    summary = ""
    family = "magic"
    parameters = _Loose
    host_powers = (_Power,)

    def inject(self, strike: Strike) -> None: ...
    def verify(self, strike: Strike) -> Evidence:
        return Evidence("it always works")

    def heal(self, strike: Strike) -> None: ...
    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence("healed")


def test_what_a_nemesis_lacks_is_told() -> None:
    lines = _told(lambda: check_nemesis(_Sloppy()))

    for words in (
        "one line",
        "`family`",
        "docstring",
        "extra=forbid",
        "frozen",
        "_Power is not a @runtime",
        "`inject` is a reserved key",
    ):
        assert words in lines


def test_a_proof_of_what_was_not_made_is_told() -> None:
    lines = _told(lambda: check_nemesis(_Sloppy(), _strike))

    assert "proves a fault that was not injected: it always works" in lines


class _Stubborn(Kill):
    def heal(self, strike: Strike) -> None:
        raise NemesisError("once is enough")

    def verify(self, strike: Strike) -> Evidence:
        raise NemesisError("nothing is dead")

    def inject(self, strike: Strike) -> None: ...


def test_a_fault_that_cannot_be_healed_is_told() -> None:
    lines = _told(lambda: check_nemesis(_Stubborn(), _strike))

    assert "inject, verify: NemesisError: nothing is dead" in lines
    assert "heal, twice, verify_healed: NemesisError: once is enough" in lines


class _Twins(LogWorkload):
    def tasks(self, options: Any) -> list[Task]:
        return [Task("reader", 0), Task("reader", 0)]

    def traits(self, options: Any) -> tuple[object, ...]:
        return ("grouped",)


def test_what_a_workload_lacks_is_told() -> None:
    lines = _told(lambda: check_workload(_Twins()))

    for words in (
        "two tasks have the same name",
        f"no task has the role {PRODUCER}",
        "a trait is not a frozen dataclass",
    ):
        assert words in lines


def _rule(**changes: Any) -> Rule:
    given = {"id": "kafka.any", "allows": ("lost",), "remedy": "", "source": "s", "shown": "a", "control": "b"}
    return Rule(**{**given, "mechanisms": lambda _: (), **changes})


class _Evasive(Kafka):
    never: Mapping[type, str] = {Leadership: ""}
    notyet: Mapping[type, str] = {Leadership: "later"}
    guarantees = Guarantees(
        [_rule(id="any"), _rule(), _rule(), _rule(id="kafka.none", allows=("odd",), source="")],
        lambda _: {"strange": "never"},
        frozenset({"peculiar"}),
    )


def test_what_a_system_lacks_is_told() -> None:
    lines = _told(lambda: check_cluster(_Evasive()))

    for words in (
        f"{Leadership.__name__} is in given and in never and in notyet",
        f"`never` gives no reason for {Leadership.__name__}",
        "rule any: its id is not",
        "two rules have the id kafka.any",
        "rule kafka.none: it has no source",
        "allows odd, which no checker finds",
        "`apart` has peculiar",
        "it has a promise for strange",
    ):
        assert words in lines


def test_a_power_of_which_nothing_is_said_is_not_supported() -> None:
    class Silent(Kafka):
        never: Mapping[type, str] = {power: why for power, why in Kafka.never.items() if power is not Upgrade}

        def service_powers(self, options: Any) -> tuple[type, ...]:
            return tuple(power for power in super().service_powers(options) if power is not Upgrade)

    check_cluster(Silent())


class _Between(Kafka):
    def service_powers(self, options: Any) -> tuple[type, ...]:
        return ()

    def brokers(self, options: Any, hosts: int) -> int:
        return 1

    def prepare(self, options: Any) -> None: ...
    def deploy(self, hosts: Any, options: Any) -> Any:
        raise ServiceError(f"deployed on {len(hosts)} hosts")


def test_a_system_between_its_clients_is_tried_without_hosts() -> None:
    assert "deployed" not in _told(lambda: check_cluster(_Between()))

    lines = _told(lambda: check_cluster(_Between(), workloads={"feed": {}}))

    assert "`brokers` for no hosts is not 0, but it runs between its clients" in lines
    assert "a deployment: ServiceError: deployed on 0 hosts" in lines


class _Forgetful:
    """Producers that complete a send twice, another never, and read nothing."""

    def power(self, kind: type) -> Any:
        return self

    def producer(self, settings: object, completed: Callable[..., None]) -> Any:
        return _Producer(completed)


class _Producer:
    def __init__(self, completed: Callable[..., None]) -> None:
        self._completed = completed

    def send(self, topic: str, partition: int, key: object, payload: bytes, token: int) -> bool:
        for _ in range((token != 3) + (token == 4)):
            self._completed(token, 0, None, 100 - token)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None: ...
    def close(self, timeout_s: float) -> None: ...


def test_what_clients_lack_is_told() -> None:
    lines = _told(lambda: check_clients(_Forgetful(), Topic("t")))

    assert f"{LogClients.__name__}: " in lines
    assert "completions of 20 sends" in lines
    assert "do not ascend" in lines


def _strike(nemesis: Nemesis) -> Strike:
    return Strike("0-fault", (), (), None, (), nemesis.parameters(), 7, lambda _: [])  # type: ignore[arg-type]


def _told(check: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as raised:
        check()
    return str(raised.value)
