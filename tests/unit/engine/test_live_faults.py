"""Faults that begin and end when their caller says so, on a cluster on paper."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paper import PaperCluster
from stage import Stage

from chaoskit.base.errors import BadInput, FaultError
from chaoskit.base.quantities import SECOND, parse_duration
from chaoskit.contract.event import FaultHealed, FaultProved
from chaoskit.contract.hosts.host import ServiceState
from chaoskit.run.live.faults import LiveFaults
from chaoskit.run.live.plans import LivePlan


class Live:
    """The faults of a live cluster on paper."""

    def __init__(self, folder: Path, cluster: PaperCluster) -> None:
        self.cluster = cluster
        self.stage = Stage(folder, cluster, [])
        self.plan = LivePlan.of({"system": "kafka"}, "live", "kafka", seed=7)
        self.faults = LiveFaults(self.stage.conductor.course)

    def begin(self, kind: str, on: str | list[str], **keys: Any) -> Any:
        return self.faults.begin(lambda number: self.plan.fault(number, kind, on, keys))

    def rows(self) -> list[dict[str, Any]]:
        """End; return what was recorded."""
        assert self.faults.heal_all() == []
        return self.stage.end()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path, PaperCluster())
    yield made
    made.faults.heal_all()
    made.stage.conductor.course.log.close()


@pytest.fixture
def plan() -> LivePlan:
    return LivePlan.of({"system": "kafka"}, "live", "kafka", seed=7)


def test_a_fault_holds_from_its_proof_until_it_is_healed(live: Live) -> None:
    fault = live.begin("pause", "n1")
    during = live.faults.active, live.cluster.hosts[0].seen
    live.faults.heal(fault)
    afterwards = live.faults.active, live.cluster.hosts[0].seen

    assert fault.targets == ("n1",)
    assert during == (("pause on n1",), ServiceState.PAUSED)
    assert afterwards == ((), ServiceState.RUNNING)
    assert [type(event) for event in live.stage.events] == [FaultProved, FaultHealed]


def test_it_may_hold_for_longer_than_faults_of_a_timeline(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    course = live.stage.conductor.course
    fault = live.begin("pause", "n1")
    later_ns = course.now_ns() + 3600 * 10**9
    monkeypatch.setattr(type(course), "now_ns", lambda _: later_ns)

    assert not threading.Event().wait(0.2)
    assert live.cluster.hosts[0].seen is ServiceState.PAUSED
    live.faults.heal(fault)


def test_a_fault_without_effect_says_why_and_is_undone(tmp_path: Path) -> None:
    live = Live(tmp_path, PaperCluster(immortal=["n1"]))

    with pytest.raises(FaultError, match="kill on n1: no effect: "):
        live.begin("kill", "n1")

    assert live.faults.active == ()
    assert live.rows()[0]["effective_ns"] is None


def test_a_target_that_is_taken_is_refused(live: Live) -> None:
    live.begin("pause", "n1")

    with pytest.raises(FaultError, match=r"kill on n1: no effect: already under a fault: n1 \(by pause \(fault 0\)"):
        live.begin("kill", "n1")

    assert live.faults.active == ("pause on n1",)


def test_a_fault_that_cannot_be_healed_says_so(live: Live) -> None:
    fault = live.begin("pause", "n1")
    live.cluster.hosts[0].broken = {"CONT"}

    with pytest.raises(FaultError, match=r"pause on n1: .*not healed"):
        live.faults.heal(fault)
    assert len(live.faults.heal_all()) == 1


def test_all_are_healed_at_the_end_and_none_begins_after_it(live: Live) -> None:
    for host in ("n1", "n2"):
        live.begin("pause", host)

    rows = live.rows()

    assert [row["healed_ns"] is not None for row in rows] == [True, True]
    with pytest.raises(FaultError):
        live.begin("pause", "n3")


def test_what_interrupts_the_wait_for_a_proof_heals(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a timeout of a test, or Ctrl-C."""

    def interrupt(_: threading.Event, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        began = threading.Event.wait
        owner = threading.current_thread()
        patch.setattr(
            threading.Event,
            "wait",
            lambda event, timeout=None: (
                interrupt(event) if timeout is None and threading.current_thread() is owner else began(event, timeout)
            ),
        )
        with pytest.raises(KeyboardInterrupt):
            live.begin("pause", "n1")

    assert live.faults.active == ()
    assert live.cluster.hosts[0].seen is ServiceState.RUNNING


def test_the_timeline_has_when_it_began_and_how_long_it_held(live: Live) -> None:
    live.stage.conductor.course.load_start_ns = live.stage.origin_ns
    fault = live.begin("kill", "leader")
    time.sleep(0.2)
    live.faults.heal(fault)

    entry = live.stage.timeline()["faults"][0]
    assert 0.2 * SECOND <= parse_duration(entry["for"]) < 5 * SECOND

    assert (entry["inject"], entry["on"], entry["hit"]) == ("kill", ["leader"], ["n1"])
    assert entry["at"] != "0s"


def test_the_same_seed_and_number_draw_the_same_targets(plan: LivePlan) -> None:
    drawn = [plan.fault(number, "kill", "one", {}).on for number in range(8)]

    assert drawn == [plan.fault(number, "kill", "one", {}).on for number in range(8)]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda plan: plan.fault(0, "kil", "one", {}), "kafka: fault 'kil': inject: there is no .* did you mean"),
        (lambda plan: plan.fault(0, "kill", "leadr", {}), "kafka: fault 'kill': on: there is no host or role 'leadr'"),
        (lambda plan: plan.fault(0, "kill", "one", {"for": "3s"}), "for: it begins at once, .*; remove for"),
        (lambda plan: plan.fault(0, "kill", "leader:a/0", {}), "there is no host or role|no partition"),
        (
            lambda plan: plan.fault(0, "wire", "all", {"message": "Produce", "then": "drop"}),
            r"write up\(faults=\['wire'\]\)",
        ),
        (lambda plan: plan.fault(0, "clock-offset", "n1", {"offset": "5s"}), r"write up\(faults=\['clock-offset'\]\)"),
        (lambda plan: plan.topic("orders"), r"there is no topic 'orders'; make it with topic\('orders'\)"),
        (lambda plan: plan.add("a b", 1, None), "topic 'a b': workload.topics.0.name"),
        (lambda plan: plan.add("orders", 0, None), "workload.topics.0.partitions"),
        (lambda plan: plan.add("orders", 1, 4), "4 replicas require as many brokers; there are 3"),
        (lambda plan: [plan.add("orders", 1, None) for _ in range(2)], "'orders' was made before"),
    ],
)
def test_bad_input_names_the_key_and_the_remedy(plan: LivePlan, call: Callable[[LivePlan], object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        call(plan)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cluster": {"system": "kafak"}}, "there is no system 'kafak'"),
        ({"faults": ["wires"]}, "live: faults: .*'wires'"),
        ({"faults": "wire"}, r"is one kind; write a list of kinds, such as \['wire'\]"),
        ({"cluster": {"system": "kafka", "seats": 2}}, "cluster.seats: .*remove it"),
        ({"recovery": "60"}, "recovery: "),
    ],
)
def test_what_cannot_be_up_is_refused(given: dict[str, Any], said: str) -> None:
    keys = {"cluster": {"system": "kafka"}, **given}

    with pytest.raises(BadInput, match=said):
        LivePlan.of(keys.pop("cluster"), "live", "live", **keys)


def test_hosts_are_prepared_for_the_kinds_that_were_named() -> None:
    plan = LivePlan.of({"system": "kafka"}, "live", "live", seed=7, faults=["clock-offset"])

    plan.fault(0, "clock-offset", "n1", {"offset": "5s"})

    assert {power.__name__ for power in plan.standing.host_powers_needed} == {"SettableClock"}
    assert plan.now.host_powers_needed == frozenset()


def test_what_is_expected_is_checked_at_once_and_holds_for_the_topics() -> None:
    plan = LivePlan.of({"system": "kafka"}, "live", "kafka", expect={"lost": "none"})
    plan.add("orders", 1, None)

    assert plan.now.scenario.expect == {"lost": "none"}
    assert LivePlan.of({"system": "kafka"}, "live", "kafka", expect={"recovered": "< 30s"}).now.scenario.expect
    with pytest.raises(BadInput, match=r'kafka: expect\.lots: unknown anomaly; did you mean "lost"'):
        LivePlan.of({"system": "kafka"}, "live", "kafka", expect={"lots": "none"})
