"""The consequence of a fault in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.judge.faults.consequence import Change, Changed

_SUBJECTS = {
    Change.OUT_OF_SYNC: "{host} fell out of sync with {where}",
    Change.NEW_LEADER: "leader of {where} from {before} to {host}",
    Change.NO_LEADER: "{where} had no leader",
    Change.NEW_EPOCH: "{host} was elected again as leader of {where}",
    Change.LEFT: "{host} left {where}",
    Change.JOINED: "{host} joined {where}",
    Change.NEW_OWNER: "{host} took over {where} from {before}",
    Change.UNSUBSCRIBED: "{host} was not subscribed to {where}",
}
_LASTED = {
    Change.OUT_OF_SYNC: ("back at", "was not back"),
    Change.NO_LEADER: ("until", "got none"),
    Change.UNSUBSCRIBED: ("until", "was not again"),
}
"""Words before the end of a change, and if it had none."""

_LEADING = (Change.NEW_LEADER, Change.NO_LEADER, Change.NEW_EPOCH)
"""Who leads decides what is kept: these changes are told before others."""

_CHANGES_SHOWN = 4
_PERCENTILES = {"p50_ms": "p50", "p99_ms": "p99"}
_OF = {"send": "of sends", "end_to_end": "to consumers"}


def in_words(fault: Mapping[str, Any]) -> str:
    """Return the consequence of a fault of verdict.json.

    >>> fault = {"at_ms": 2000.0, "stayed_in_sync": ["n2"], "consequence": {}}
    >>> in_words(fault)
    'none: nothing changed in the system, and n2 stayed in sync'
    >>> change = {"what": "out-of-sync", "host": "n2", "partition": "t/0", "at_ms": 6100.0, "until_ms": None}
    >>> in_words({**fault, "consequence": {"out_of_sync": ["n2"], "membership": [change], "not_acknowledged": 3}})
    'n2 fell out of sync with t/0 at 6.1 s (4.1 s after it began), and was not back; 3 sends were not acknowledged'
    """
    consequence = fault.get("consequence")
    if consequence is None:
        return "; ".join(["not known", *fault.get("consequence_doubts", ())])
    if not consequence:
        stayed = ", ".join(fault.get("stayed_in_sync", ()))
        return f"none: nothing changed in the system{f', and {stayed} stayed in sync' if stayed else ''}"
    return "; ".join([*_changes(consequence.get("membership", ()), fault.get("at_ms", 0.0)), *_clients(consequence)])


_FIGURES = {
    "not_acknowledged": "{:,} sends were not acknowledged",
    "stalled_ms": "no send was acknowledged for {:,.0f} ms",
    "unheard_ms": "a reader received nothing for {:,.0f} ms",
    "acks_per_s": "acknowledged sends {:,.0f}/s to {:,.0f}/s",
    "degraded_ms": "hardly any send was acknowledged for {:,.0f} ms in all",
    "waited_ms": "messages took up to {1:,.0f} ms to a reader, and up to {0:,.0f} ms outside of faults",
    "arrived_per_s": "receives {:,.0f}/s to {:,.0f}/s of what was sent then",
}
"""What clients experienced, in words, by key of verdict.json."""


def staked(fault: Mapping[str, Any]) -> str:
    """Return how many messages a fault of verdict.json could have taken; empty if that is not known.

    >>> staked({"at_stake": 3}), staked({"at_stake": 0}), staked({"at_stake": None})
    ('3 messages were at stake', 'nothing was at stake', '')
    """
    count = fault.get("at_stake")
    if count is None:
        return ""
    return f"{count:,} message{'s were' if count > 1 else ' was'} at stake" if count else "nothing was at stake"


def seen(changed: Changed) -> str:
    """Return one change, as it was just seen."""
    content = changed.as_json()
    subject = _subject(content["what"], content["host"], content.get("before", ""), content["partition"])
    return f"{subject} at {_s(content['at_ms'])}"


def _subject(what: str, host: str, before: str, where: str) -> str:
    return _SUBJECTS[Change(what)].format(host=host, before=before or "none", where=where)


def _changes(changes: Sequence[Mapping[str, Any]], began_ms: float) -> Iterator[str]:
    """Yield equal changes of several partitions as one; if there are many, the most important ones only."""
    alike: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for change in changes:
        alike[change["what"], change["host"], change.get("before", "")].append(change)
    chosen = sorted(alike, key=lambda key: Change(key[0]) not in _LEADING)[:_CHANGES_SHOWN]
    yield from (_change(*key, alike[key], began_ms) for key in alike if key in chosen)
    if (more := len(alike) - len(chosen)) > 0:
        yield f"and {more} more changes in verdict.json"


def _change(what: str, host: str, before: str, own: Sequence[Mapping[str, Any]], began_ms: float) -> str:
    places = list(dict.fromkeys(change["partition"] for change in own))
    where = places[0] if len(places) == 1 else f"{len(places)} partitions"
    at_ms = own[0]["at_ms"]
    at = f"at {_s(at_ms)} ({_s(at_ms - began_ms)} after it began)"
    ends = [change.get("until_ms") for change in own]
    until = None if None in ends else max(ends, default=None)  # type: ignore[type-var]
    sentence = f"{_subject(what, host, before, where)} {at}"
    if Change(what) not in _LASTED:
        return sentence
    ended, never = _LASTED[Change(what)]
    return f"{sentence}, and {never}" if until is None else f"{sentence}, {ended} {_s(until)}"


def _clients(consequence: Mapping[str, Any]) -> Iterator[str]:
    if counts := consequence.get("found"):
        yield f"explains {_counted(counts)}"
    if only := consequence.get("found_only"):
        yield f"{_counted(only)} came while it held, and at no other time"
    for name, ms in consequence.get("lasted_ms", {}).items():
        yield f"{name} for {ms:,.0f} ms"
    for key, words in _FIGURES.items():
        if (figure := consequence.get(key)) is not None:
            yield words.format(*(figure if isinstance(figure, (list, tuple)) else [figure]))
    for name, words in _OF.items():
        points = [
            f"{_PERCENTILES[key]} {pair[0]:,.1f} to {pair[1]:,.1f} ms"
            for key, pair in consequence.get(name, {}).items()
        ]
        if points:
            yield f"latency {words}: {', '.join(points)}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _s(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s"
