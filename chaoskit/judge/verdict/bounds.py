"""Times of a run beside the bounds that its scenario expects of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaoskit.base.quantities import MILLISECOND
from chaoskit.scenario.expected import LATENCIES, UNAVAILABLE, UNHEARD, Bound

_NOTHING_HEALED = "no fault was healed while sends were due"
_NEVER = "in some partitions no send was acknowledged again"
_DEAF = "some readers received nothing again"
_NO_RECEIVES = "the record does not show when each reader received what"
_NO_TIME = "it was not measured"
_NOT_RECORDED = "nothing was recorded that shows it"


@dataclass(frozen=True, slots=True)
class Bounded:
    """A measured time and its bound.

    Attributes:
        expected: the bound as in the scenario.
        measured_ms: the time; None if there is none.
        met: whether the time keeps the bound; one that there is none of does not.
        note: why there is no time, or what it leaves out.
        unknown: whether nothing can tell: nothing was due that could have shown it. It is not met then, nor missed.
    """

    expected: str
    measured_ms: float | None
    met: bool
    note: str = ""
    unknown: bool = False

    @property
    def missed(self) -> bool:
        """Whether a time is not as expected."""
        return not self.met and not self.unknown


def compare(
    bounds: Mapping[str, Bound],
    availability: Mapping[str, Any],
    latency: Mapping[str, Any],
    longest_ms: Mapping[str, float | None],
) -> dict[str, Bounded]:
    """Return each time that has a bound.

    Args:
        bounds: by name; see `chaoskit.scenario.expected.MEASURES`.
        availability, latency: as in verdict.json.
        longest_ms: how long the longest finding of each anomaly lasted that lasts, milliseconds; None if nothing could
            be found.
    """

    def measured(name: str, bound: Bound) -> tuple[float | None, str]:
        if name in longest_ms:
            return longest_ms[name], _NOT_RECORDED if longest_ms[name] is None else ""
        return _latency(name, bound, latency) if name in LATENCIES else _gap(name, availability)

    return {name: _compared(bound, *measured(name, bound)) for name, bound in bounds.items()}


def describe(bounded: Bounded) -> str:
    """Return a time, its bound and whether it is kept, in words."""
    measured = "none" if bounded.measured_ms is None else f"{bounded.measured_ms:,.1f} ms"
    note = f" ({bounded.note})" if bounded.note else ""
    word = "as expected" if bounded.met else "NOT as expected" if bounded.missed else "unknown, expected"
    return f"{measured}{note}, {word}: {bounded.expected}"


def _compared(bound: Bound, measured_ms: float | None, note: str) -> Bounded:
    limit_ms = bound.limit_ns / MILLISECOND
    met = measured_ms is not None and (measured_ms < limit_ms if bound.below else measured_ms > limit_ms)
    unknown = measured_ms is None and note in (_NOTHING_HEALED, _NO_RECEIVES, _NOT_RECORDED)
    return Bounded(str(bound), measured_ms, met and not (bound.below and note), note, unknown)


def _gap(name: str, availability: Mapping[str, Any]) -> tuple[float | None, str]:
    if name == UNAVAILABLE:
        return availability["longest_unavailable_ms"], ""
    if name == UNHEARD:
        unheard_ms = availability.get("unheard_ms")
        return unheard_ms, _NO_RECEIVES if unheard_ms is None else ""
    times_ms = [availability["recovered_after_heal_ms"], availability.get("heard_after_heal_ms")]
    if times_ms == [None, None]:
        return None, _NOTHING_HEALED
    longest_ms = max(time_ms for time_ms in times_ms if time_ms is not None)
    deaf = _DEAF if availability.get("not_heard") else ""
    return longest_ms, _NEVER if availability["not_recovered"] else deaf


def _latency(name: str, bound: Bound, latency: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return a percentile; sends that were not acknowledged count until they were given up."""
    what, percentile = LATENCIES[name]
    point = (latency[bound.phase] if bound.phase else latency).get(what, {})
    measured_ms = (point.get("all_due") or point).get(percentile)
    return measured_ms, _NO_TIME if measured_ms is None else ""
