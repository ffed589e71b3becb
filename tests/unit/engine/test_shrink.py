"""Delta debugging of timelines: the smallest subset that fails, short candidates, and when a run is no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.quantities import SECOND, parse_duration
from chaoskit.search.shrink import (
    GAP_NS,
    LEAD_NS,
    TAIL_NS,
    Failure,
    Happened,
    candidate,
    failure_of,
    minimal,
    suspects,
    tries_for,
)

CONTENT = {"name": "mix", "workload": {"kind": "log", "duration": "10m"}, "faults": []}


def fault(start_s: int, held_s: int = 2, kind: str = "kill") -> Happened:
    entry = {
        "at": f"{start_s}s", "inject": kind, "on": ["leader"], "for": f"{held_s}s", "at_most": 1,
        "hit": ["n1"], "pick": 0.5, "began": f"{start_s}.1s",
    }  # fmt: skip
    return Happened(entry, start_s * SECOND, (start_s + held_s) * SECOND)


@given(st.sets(st.integers(0, 39), min_size=1, max_size=4))
def test_the_smallest_subset_that_fails_is_found(causes: set[int]) -> None:
    tried: list[Sequence[int]] = []

    def fails(some: Sequence[int]) -> bool:
        tried.append(some)
        return causes <= set(some)

    assert minimal(range(40), fails) == sorted(causes)
    assert all(len(some) < 40 for some in tried), "what is known to fail is not run again"


def test_of_several_causes_one_that_suffices_is_left() -> None:
    assert minimal(range(10), lambda some: bool({3, 7} & set(some))) in ([3], [7])


def test_nothing_is_left_out_where_all_is_needed() -> None:
    assert minimal([1, 2, 3], lambda some: len(some) == 3) == [1, 2, 3]


def test_a_fault_that_waited_has_the_time_at_which_it_began() -> None:
    waited = {**fault(9).entry, "after": {"fault": "slow", "is": "consequence"}, "within": "30s"}
    own = {**fault(20).entry, "inject": "zombie", "within": "7s"}
    happened = [Happened({k: v for k, v in waited.items() if k != "at"}, 9 * SECOND, 11 * SECOND)]

    first, second = candidate(CONTENT, [*happened, Happened(own, 20 * SECOND, 22 * SECOND)])["faults"]

    assert first["at"] == "3s"
    assert not first.keys() & {"after", "within"}
    assert second["within"] == "7s"


def test_the_times_of_a_candidate_are_drawn_together_and_its_load_is_short() -> None:
    shrunk = candidate(CONTENT, [fault(500), fault(100, held_s=3)])

    first, second = (parse_duration(entry["at"]) for entry in shrunk["faults"])
    assert first == LEAD_NS
    assert second == LEAD_NS + 3 * SECOND + GAP_NS
    assert parse_duration(shrunk["workload"]["duration"]) == second + 2 * SECOND + TAIL_NS
    assert [set(entry) for entry in shrunk["faults"]] == [{"at", "inject", "on", "for", "at_most", "pick"}] * 2
    assert shrunk["name"] == "mix-shrunk"
    assert candidate(shrunk, [fault(1)])["name"] == "mix-shrunk"


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 30)), min_size=1, unique_by=lambda span: span[0]))
def test_faults_keep_their_order_and_those_that_overlapped_still_do(times: list[tuple[int, int]]) -> None:
    happened = sorted((fault(start, held) for start, held in times), key=lambda one: one.start_ns)

    at = [parse_duration(entry["at"]) for entry in candidate(CONTENT, happened)["faults"]]

    for index, (before, after) in enumerate(pairwise(happened)):
        gap, was = at[index + 1] - at[index], after.start_ns - before.start_ns
        assert 0 < gap <= was
        if after.start_ns <= before.end_ns:
            assert gap == was


def test_suspects_are_the_faults_near_the_anomaly_the_nearest_first() -> None:
    happened = [fault(10), fault(50), fault(70, held_s=5), fault(200)]

    near = suspects(happened, Failure(frozenset({"lost"}), False, (72 * SECOND, 80 * SECOND)))

    assert near == [happened[2]]
    assert suspects(happened, Failure(frozenset({"lost"}), False, (60 * SECOND, 75 * SECOND))) == [
        happened[1],
        happened[2],
    ]
    assert suspects(happened, Failure(frozenset(), True, None)) == []


def _verdict(**changes: Any) -> dict[str, Any]:
    anomaly = {"count": 2, "allowed": False, "between_s": [12.0, 13.5]}
    allowed = {"count": 1, "allowed": True, "between_s": [1.0, 2.0]}
    anomalies = {"lost": anomaly, "redelivered": allowed}
    return {"load_start_s": 10.0, "liveness": {"recovered": True}, "anomalies": anomalies, **changes}


def test_a_failure_is_what_was_not_allowed() -> None:
    failure = failure_of(_verdict())

    assert failure == Failure(frozenset({"lost"}), False, (2 * SECOND, 3500 * SECOND // 1000))
    assert failure.in_verdict(_verdict())
    assert not failure.in_verdict(_verdict(anomalies={}))
    assert not failure.in_verdict(_verdict(anomalies={"lost": {"count": 2, "allowed": True}}))
    assert not failure.in_verdict(_verdict(anomalies={}, liveness={"recovered": False}))


def test_no_recovery_is_a_failure_too() -> None:
    failure = failure_of(_verdict(anomalies={}, liveness={"recovered": False}))

    assert str(failure) == "no recovery"
    assert failure.in_verdict(_verdict(anomalies={}, liveness={"recovered": False}))
    assert not failure.in_verdict(_verdict())


@pytest.mark.parametrize(("rate", "tries"), [(1.0, 2), (0.9, 2), (0.5, 5), (0.3, 9), (0.1, 10), (0.0, 10)])
def test_a_rare_failure_takes_more_runs_to_rule_out(rate: float, tries: int) -> None:
    assert tries_for(rate, 2) == tries
