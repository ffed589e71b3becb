"""Live clusters as tests meet them: scopes, blocks, reports. The cluster itself is on paper."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from chaoskit import BadInput, FaultError, LiveCluster, SharedCluster, live_cluster
from chaoskit.contract.workloads.topic import Topic
from chaoskit.run.live.plans import LivePlan
from chaoskit.run.site import Site
from chaoskit.testing import shared

_OPTIONS = ("-p", "no:cacheprovider", "--strict-markers", "-W", "error", "-m", "chaos")


class PaperLease:
    """What `Lease` is to its callers; `log` has what happened, by all of them."""

    log: ClassVar[list[str]] = []
    fails: ClassVar[str] = ""

    def __init__(self, site: Site, plan: LivePlan, watcher: object) -> None:
        self.log.append("up")
        self.trial = SimpleNamespace(
            folder=Path("run"), plan=plan, topic_of=Topic, fault=self._fault, heal=lambda _: self.log.append("healed")
        )
        self.site = site

    def close(self, *, hurry: bool = False) -> None:
        self.log.append("down in a hurry" if hurry else "down")
        if self.fails:
            raise FaultError(self.fails)

    def _fault(self, kind: str, on: object, keys: object) -> Any:
        if kind == "idle":
            raise FaultError("idle on n1: no effect: nothing happened")
        self.log.append(f"{kind} on {on} {keys}")
        return SimpleNamespace(targets=("n1",), evidence="seen")


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(shared, "Lease", PaperLease)
    monkeypatch.setattr(PaperLease, "fails", "")
    events: list[str] = []
    monkeypatch.setattr(PaperLease, "log", events)
    monkeypatch.setattr(Site, "close", lambda _: events.append("closed"))
    return events


@pytest.fixture
def kafka(tmp_path: Path) -> SharedCluster:
    return SharedCluster({"system": "kafka"}, Site(tmp_path))


SESSION = """
    import pytest

    @pytest.fixture(scope="session")
    def kafka(chaos_cluster):
        with chaos_cluster(system="kafka").up() as kafka:
            yield kafka

    @pytest.mark.chaos
    def test_first(kafka):
        assert kafka.seed == 7

    @pytest.mark.chaos
    def test_second(kafka):
        assert not FAILS
"""


def test_a_cluster_is_up_as_long_as_the_fixture_that_asks(pytester: pytest.Pytester, log: list[str]) -> None:
    pytester.makepyfile(SESSION.replace("FAILS", "0"))

    pytester.runpytest_inprocess(*_OPTIONS, "--chaos-seed", "7").assert_outcomes(passed=2)

    assert log == ["up", "down", "closed"]


def test_a_cluster_of_a_test_ends_with_it(pytester: pytest.Pytester, log: list[str]) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chaos
        @pytest.mark.parametrize("number", [0, 1])
        def test_own(chaos_cluster, number):
            with chaos_cluster(system="kafka").up() as kafka, kafka.fault("kill", on="n1"):
                pass
        """
    )

    pytester.runpytest_inprocess(*_OPTIONS).assert_outcomes(passed=2)

    assert log == ["up", "kill on n1 {}", "healed", "down", "closed"] * 2


def test_tests_of_a_module_share_what_they_name_so(pytester: pytest.Pytester, log: list[str]) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chaos
        @pytest.mark.parametrize("number", [0, 1])
        def test_own(chaos_cluster, number):
            with chaos_cluster(system="kafka", scope="module").up():
                pass
        """
    )

    pytester.runpytest_inprocess(*_OPTIONS).assert_outcomes(passed=2)

    assert log == ["up", "down", "up", "down", "closed"]


def test_a_scope_that_ends_before_the_fixture_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SESSION.replace('system="kafka"', 'system="kafka", scope="module"'))

    result = pytester.runpytest_inprocess(*_OPTIONS)

    result.stdout.fnmatch_lines(["*scope 'module' ends before the fixture that asks, whose scope is 'session'*"])


def test_a_failed_test_names_the_run_folder_and_reports_have_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SESSION.replace("FAILS", "1"))

    result = pytester.runpytest_inprocess(*_OPTIONS, "--junit-xml=out.xml", "--chaos-seed", "7")

    result.stdout.fnmatch_lines(["*- chaos live cluster -*", "run folder: run"])
    report = (pytester.path / "out.xml").read_text()
    assert report.count('<property name="chaoskit_run_folder" value="run"') == 2
    assert report.count('<property name="chaoskit_seed" value="7"') == 2


def test_a_fault_without_effect_fails_the_test_without_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SESSION.replace("assert not FAILS", 'kafka.inject("idle")'))

    result = pytester.runpytest_inprocess(*_OPTIONS, "--chaos-seed", "7")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *FaultError: idle on n1: no effect: nothing happened"])
    assert "live.py" not in result.stdout.str()


def test_what_fails_at_the_end_does_not_hide_what_failed_before(
    kafka: SharedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PaperLease, "fails", "kill on n1: not healed")

    with pytest.raises(ZeroDivisionError) as failed, kafka.up():
        raise ZeroDivisionError
    assert failed.value.__notes__ == ["FaultError: kill on n1: not healed"]

    with pytest.raises(FaultError, match="not healed"), kafka.up():
        pass
    assert kafka.lives == []


def test_ctrl_c_does_not_wait(kafka: SharedCluster, log: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt), kafka.up():
        raise KeyboardInterrupt

    assert log == ["up", "down in a hurry"]


def test_blocks_are_asynchronous_too(kafka: SharedCluster, log: list[str]) -> None:
    async def script() -> None:
        async with kafka.up() as live, live.fault("kill", on=["n1", "n2"]) as fault:
            assert (fault.targets, fault.evidence) == (("n1",), "seen")

    asyncio.run(script())

    assert log == ["up", "kill on ['n1', 'n2'] {}", "healed", "down"]


def test_a_script_needs_no_pytest(tmp_path: Path, log: list[str]) -> None:
    with live_cluster({"system": "kafka"}, store=tmp_path, seed=3) as live:
        fault = live.inject("kill", on="n1")
        fault.heal()
        assert live.properties == {"chaoskit_seed": "3", "chaoskit_run_folder": "run"}

    assert log == ["up", "kill on n1 {}", "healed", "down"]


def test_the_partition_of_a_role_and_a_key_of_the_kind(kafka: SharedCluster, log: list[str]) -> None:
    with kafka.up() as live:
        live.inject("kill", on="leader", of="orders/2")
        live.inject("wire", on="all", of="response", message="Produce")

    assert log[1:3] == ["kill on leader:orders/2 {}", "wire on all {'message': 'Produce', 'of': 'response'}"]


@pytest.mark.parametrize(
    ("of", "on", "said"),
    [
        ("orders", "leader", "of: 'orders' is no partition; write of='orders/0'"),
        ("orders/x", "leader", "is no partition"),
        ("orders/0", ["leader"], "of: 'orders/0' is of one role"),
    ],
)
def test_no_partition_is_refused(kafka: SharedCluster, of: str, on: Any, said: str) -> None:
    with kafka.up() as live, pytest.raises(BadInput, match=said):
        live.fault("kill", on=on, of=of)


def test_unknown_keys_are_refused(kafka: SharedCluster) -> None:
    keys: Any = {"sed": 7}

    with pytest.raises(BadInput, match=r"up: sed: unknown key; did you mean \"seed\"\?"):
        kafka.up(**keys)


def test_what_is_up_says_what_it_is(kafka: SharedCluster) -> None:
    with kafka.up() as live:
        assert isinstance(live, LiveCluster)
        assert kafka.lives == [live]
