"""Hypothesis strategies for timelines of faults, for property tests of your own system.

@pytest.mark.chaos
@settings(max_examples=20, deadline=None)
@given(faults=timelines(["kill", "pause", "partition"], hosts=["n1", "n2", "n3"], duration="20s"))
def test_nothing_is_lost(chaos, faults):
    chaos(cluster=..., workload={"kind": "log", "duration": "20s"}, faults=faults).assert_valid()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from chaoskit.base.quantities import MILLISECOND, format_duration, parse_duration
from chaoskit.contract.installed import nemesis

Kind = str | Mapping[str, Mapping[str, Any]]
"""A kind of fault, or a mapping of its name to its parameters, as in `inject:` of a scenario."""


def timelines(
    kinds: Sequence[Kind],
    hosts: Sequence[str],
    duration: str,
    *,
    faults_max: int = 8,
    hosts_at_once: int = 1,
    longest: str = "5s",
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for lists of faults (as in `faults:`) that shrinks to few, early and short faults.

    Args:
        kinds: kinds to draw from; instantaneous kinds get no `for`.
        hosts: host names, roles or clients; each fault targets one.
        duration: duration of the load; every fault starts before its end.
        faults_max: maximum number of faults.
        hosts_at_once: maximum number of hosts under faults at the same time; a fault waits until it may start.
        longest: maximum duration of a fault.

    Raises:
        ValueError: a duration has no unit, or there is no kind or host.
    """
    if not kinds or not hosts:
        raise ValueError("there must be at least one kind of fault and one host")
    steps = parse_duration(duration) // MILLISECOND - 1
    fault = st.builds(
        _fault,
        kind=st.sampled_from(list(kinds)),
        on=st.sampled_from(list(hosts)),
        at=st.integers(0, steps),
        held=st.integers(100, max(100, parse_duration(longest) // MILLISECOND)),
        hosts_at_once=st.just(hosts_at_once),
    )
    return st.lists(fault, max_size=faults_max).map(lambda faults: sorted(faults, key=_at_ns))


def _fault(kind: Kind, on: str, at: int, held: int, hosts_at_once: int) -> dict[str, Any]:
    name, parameters = (kind, {}) if isinstance(kind, str) else next(iter(kind.items()))
    limits = {"at_most": hosts_at_once, "overlap": False}
    entry = {"at": format_duration(at * MILLISECOND), "inject": name, "on": on, **limits, **parameters}
    return {**entry, "for": format_duration(held * MILLISECOND)} if nemesis(name).lasts else entry


def _at_ns(fault: Mapping[str, Any]) -> int:
    return parse_duration(fault["at"])
