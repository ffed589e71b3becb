"""What happened in a run, in one sentence: whether acknowledged messages were lost, and why that was possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

LOSSES = ("lost", "lost-entry")
"""Anomalies whose findings are acknowledged messages that are lost; a message may be found as both."""

FROM_THE_LOG = (*LOSSES, "truncated")
"""Anomalies whose findings are messages that the log does not have any more."""

EXPIRED = "expired"
"""Messages that the system deleted by itself; unless its declared retention explains that, they are lost."""

GONE = {
    EXPIRED: "were deleted by the system",
    "dropped": "were dropped by their queue",
    "missed": "did not reach a subscriber, which was promised them at most once",
    "unacked-vanished": "vanished before a consumer had settled them",
    "dead-letter-missing": "were dropped, and are not among the dead letters",
}
"""Further anomalies whose findings are acknowledged messages that an application does not get, and what they did."""

VANISHED = ("unacked-vanished", "dead-letter-missing")
"""Those of them that are losses to an application, whatever explains them."""

UNSEEN = "unseen"
"""Messages of which it is not decided whether they are lost."""

_NAMED = 2


class Counted(Protocol):
    """What was found of an anomaly, and what explains it."""

    @property
    def count(self) -> int: ...
    @property
    def allowed(self) -> bool: ...
    @property
    def causes(self) -> Sequence[Mapping[str, Any]]: ...


def lost_messages(losses: Iterable[int], expired: int, causes: Sequence[Mapping[str, Any]], *, allowed: bool) -> int:
    """Return how many acknowledged messages were lost, with those that the system deleted because of a fault.

    Args:
        losses: numbers of findings of LOSSES; a message may be found as both.
        expired: number of messages that it deleted.
        causes: what explains these, as `explained` in verdict.json.
        allowed: whether it may; otherwise all of them are lost.
    """
    deleted = sum(cause["count"] for cause in causes if cause["faults"]) if allowed else expired
    return max(losses, default=0) + deleted


def headline(acked: int, anomalies: Mapping[str, Counted], *, complete: bool, missed: Sequence[str] = ()) -> str:
    """Return what happened, in one sentence.

    Args:
        acked: number of acknowledged sends.
        anomalies: what was found.
        complete: whether the final read reached the end of every partition.
        missed: names of the times that are not as expected.
    """
    more = [f"not as expected: {', '.join(missed)}"] if missed else []
    return "; ".join([*_parts(acked, anomalies, complete), *more])


def _parts(acked: int, anomalies: Mapping[str, Counted], complete: bool) -> Iterator[str]:
    if not acked:
        yield "nothing was acknowledged"
        return
    losses = [found for name in LOSSES if (found := anomalies.get(name)) and found.count]
    for found in sorted(losses, key=lambda each: -each.count)[:1]:
        yield f"{found.count:,} of {acked:,} acknowledged messages were lost: {_why(found)}"
    gone = [(found, did) for name, did in GONE.items() if (found := anomalies.get(name)) and found.count]
    for found, did in gone:
        yield f"{found.count:,} of {acked:,} acknowledged messages {did}: {_why(found)}"
    unseen = anomalies.get(UNSEEN)
    if unseen and unseen.count:
        yield f"{unseen.count:,} of {acked:,} acknowledged messages were not read back, and may be lost"
    elif not complete:
        yield "the final read is incomplete"
    elif not losses and not gone:
        yield f"none of {acked:,} acknowledged messages was lost"
    told = (*LOSSES, *GONE, UNSEEN)
    wrong = [name for name, found in anomalies.items() if not found.allowed and found.count and name not in told]
    if wrong:
        yield f"not allowed: {', '.join(f'{anomalies[name].count:,} {name}' for name in wrong)}"
    if missed := [name for name, found in anomalies.items() if not found.allowed and not found.count]:
        yield f"expected, and not found: {', '.join(missed)}"


def _why(found: Counted) -> str:
    if not found.allowed:
        return "NOT allowed"
    if not found.causes or sum(cause["count"] for cause in found.causes) < found.count:
        return "allowed, as expected"
    by_rule: dict[str, dict[str, None]] = {}
    for cause in found.causes:
        by_rule.setdefault(cause["rule"], {})[cause["what"]] = None
    parts = [f"{rule}: {_listed(list(what))}" if any(what) else rule for rule, what in by_rule.items()]
    return f"allowed by {'; '.join(parts)}"


def _listed(what: list[str]) -> str:
    more = len(what) - _NAMED
    return "; ".join(what[:_NAMED]) + (f" and {more} more" if more > 0 else "")
