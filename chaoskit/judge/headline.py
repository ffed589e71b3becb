"""What happened in a run, in one sentence: whether acknowledged messages were lost, and why that was possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

LOSSES = ("lost", "lost-entry")
"""Anomalies whose findings are acknowledged messages that are lost; a message may be found as both."""

_UNSEEN = "unseen"


class _Found(Protocol):
    @property
    def count(self) -> int: ...
    @property
    def allowed(self) -> bool: ...
    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]: ...


def headline(acked: int, anomalies: Mapping[str, _Found], *, complete: bool) -> str:
    """Return what happened, in one sentence.

    Args:
        acked: number of acknowledged sends.
        anomalies: what was found.
        complete: whether the final read reached the end of every partition.
    """
    return "; ".join(_parts(acked, anomalies, complete))


def _parts(acked: int, anomalies: Mapping[str, _Found], complete: bool) -> Iterator[str]:
    if not acked:
        yield "nothing was acknowledged"
        return
    losses = [found for name in LOSSES if (found := anomalies.get(name)) and found.count]
    for found in sorted(losses, key=lambda each: -each.count)[:1]:
        yield f"{found.count:,} of {acked:,} acknowledged messages were lost: {_why(found)}"
    unseen = anomalies.get(_UNSEEN)
    if unseen and unseen.count:
        yield f"{unseen.count:,} of {acked:,} acknowledged messages were not read back, and may be lost"
    elif not complete:
        yield "the final read is incomplete"
    elif not losses:
        yield f"none of {acked:,} acknowledged messages was lost"
    wrong = [name for name, found in anomalies.items() if not found.allowed and name not in (*LOSSES, _UNSEEN)]
    if wrong:
        yield f"not allowed: {', '.join(f'{anomalies[name].count:,} {name}' for name in wrong)}"


def _why(found: _Found) -> str:
    if not found.allowed:
        return "NOT allowed"
    rules = [f"{cause['rule']}: {cause['what']}" if cause["what"] else cause["rule"] for cause in found.causes]
    return f"allowed by {'; '.join(rules)}" if rules else "allowed, as expected"
