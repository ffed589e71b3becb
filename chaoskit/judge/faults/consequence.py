"""What changed in the system and for its clients while a fault held: its consequence.

A fault that took effect on its host may change nothing: a page cache swallows a slow disk, a retry a lost packet. The
system's own membership is told as it was seen about once a second; a change that was first seen when the system
answered again is told of all faults that held since it had answered last. What clients experienced is told in
`chaoskit.judge.timing.behaviour`; and what a fault explains of the findings is its consequence, too. Faults that hold
at the same time are told apart by the host that fell out, or lost its lead, only. A fault of clients changes who reads,
never who leads or stores. Where nobody recorded who leads, or nothing was sent, nobody can say that a fault changed
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, pairwise
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from chaoskit.base import plugins
from chaoskit.base.quantities import SECOND
from chaoskit.contract import installed
from chaoskit.history.compacting.placements import Placements, Standing
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.attribution import Explained
from chaoskit.judge.faults.lasting import lasted_longer
from chaoskit.judge.faults.standstill import beyond
from chaoskit.model.place import Place

LATE_NS = 10 * SECOND
"""What changes this soon after the healing of a fault, and before the next one begins, is told of it: a session that
has to end first may end after the fault."""


LOOK_NS = 2 * SECOND
"""The last look before a healing may be as long before it."""

_KEYS = {"stalled": "stalled_ms", "degraded": "degraded_ms", "unheard": "unheard_ms"}
"""The key of verdict.json for what may be expected, where it is not the same word."""


class Change(StrEnum):
    """A change of the membership of a partition, or of those who read it."""

    OUT_OF_SYNC = "out-of-sync"
    NEW_LEADER = "new-leader"
    NO_LEADER = "no-leader"
    NEW_EPOCH = "new-epoch"
    LEFT = "left"
    JOINED = "joined"
    NEW_OWNER = "new-owner"
    UNSUBSCRIBED = "unsubscribed"


_LASTING = (Change.OUT_OF_SYNC, Change.NO_LEADER, Change.UNSUBSCRIBED)
"""Changes of which it is told until when they lasted."""

_OF_HOSTS = (Change.OUT_OF_SYNC, Change.UNSUBSCRIBED)
"""Changes that are told by host or client, not by partition."""


_LOSSES = (Change.OUT_OF_SYNC, Change.NEW_LEADER, Change.NO_LEADER, Change.LEFT)
"""Changes that happen to a host: it fell out, or does not lead any more."""


_OF_READERS = (Change.NEW_OWNER, Change.UNSUBSCRIBED)
"""Changes that a fault of a client can make."""


class Changed(NamedTuple):
    """One change.

    Attributes:
        what: what changed.
        place: of which partition.
        at_ns: when it was seen.
        host: the host that left or joined, or leads now; of a partition without a leader, the one that led it; or the
            client that owns it now, or is not subscribed.
        before: the host that led it before, or the client that owned it; empty if there was none.
        until_ns: when the host was seen in sync again, another leader, or the client subscribed again; None: not until
            the end.
        group: the group of an owner.
    """

    what: Change
    place: Place
    at_ns: int
    host: str
    before: str = ""
    until_ns: int | None = None
    group: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as in verdict.json."""
        content: dict[str, Any] = {"what": self.what.value, "partition": _name(self.place), "host": self.host}
        content["at_ms"] = _ms(self.at_ns)
        if self.before:
            content["before"] = self.before
        if self.group:
            content["group"] = self.group
        if self.what in _LASTING:
            content["until_ms"] = None if self.until_ns is None else _ms(self.until_ns)
        return content


def consequences(  # noqa: PLR0917 - all that is known of faults
    faults: Sequence[Fault],
    behaviour: Sequence[Mapping[str, Any] | None],
    placements: Placements,
    of_readers: Iterable[Changed],
    explained: Explained,
    answered: Sequence[Sequence[int]],
    late_ms: Sequence[float | None],
    *,
    ended: Mapping[int, Mapping[str, int]] = MappingProxyType({}),
) -> list[tuple[dict[str, Any] | None, list[str]]]:
    """Return the consequence of each fault, as in verdict.json: empty if there was none, None if nobody can tell; and
    why nobody can.

    Nobody can tell if nothing was sent while it held; of a fault of hosts, if nobody recorded where data is stored, or
    the system did not answer all the time; if it changed nothing more than another fault that held beside it; if
    findings that came after it began have no explanation; or if the machine alone may have made all that changed
    (`chaoskit.judge.faults.standstill`). Keys:
    `out_of_sync` (hosts), `new_leader`, `no_leader`, `new_epoch`, `left`, `joined` and `new_owner` (partitions),
    `unsubscribed` (clients), `membership` (each of these changes), `found` (findings that it explains, by anomaly),
    `found_only` (findings of which only the settings are the reason, and which all came while it held, by anomaly),
    `lasted_ms` (of `chaoskit.judge.faults.lasting`), and those of `chaoskit.judge.timing.behaviour.behaviour`.

    Args:
        faults: the faults of the run, by number.
        behaviour: what clients experienced while each held.
        placements: where partitions were stored.
        of_readers: the changes of those who read them (`chaoskit.judge.faults.readers`).
        explained: what explains the findings.
        answered: the times during which the system answered.
        late_ms: by how much the worst nap of the machine was late while each held, in ms; None: nobody watched.
        ended: see `chaoskit.judge.faults.instances.found_by_ends`.
    """
    known = (changes(place, placements.standings(place)) for place in placements.places)
    membership = sorted(chain(*known, of_readers), key=_when)
    since_ns = {change: _unseen_since_ns(change, answered) for change in membership}
    findings = _findings_by_fault(explained, ended)
    unasked, open_findings = _unasked(explained), _without_cause(explained)
    outcomes: list[tuple[dict[str, Any] | None, list[str]]] = []
    spans = [(fault.start_ns, _until_ns(fault, faults)) for fault in faults]
    lasting = lasted_longer(explained.findings, spans)
    for fault, experienced, late, lasted, (_, until_ns) in zip(faults, behaviour, late_ms, lasting, spans, strict=True):
        measured = {**(experienced or {}), "lasted_ms": lasted} if lasted else experienced
        clients = beyond(measured, late or 0.0)
        own = list(_own(fault, faults, since_ns))
        only = {name: count for name, first, last, count in unasked if fault.start_ns <= first and last <= until_ns}
        changed = {**_membership(own), **findings.get(fault.number, {}), **(clients or {})}
        if only and fault.effective_ns is not None:
            changed["found_only"] = only
        doubts = _unlooked(fault, placements, answered)
        doubts += _unmeasured(measured, clients, late or 0.0)
        doubts += _of_others(fault, faults, open_findings)
        outcomes.append((changed, []) if changed or not doubts else (None, doubts))
    return outcomes


def meets(consequence: Mapping[str, Any] | None, expected: str) -> bool:
    """Return whether a consequence is as expected; see `chaoskit.scenario.expected.ExpectedConsequence`."""
    if consequence is None:
        return False
    if expected in ("none", "some"):
        return bool(consequence) == (expected == "some")
    return _KEYS.get(expected, expected.replace("-", "_")) in consequence


def stayed(fault: Fault, placements: Placements, answered: Sequence[Sequence[int]]) -> list[str]:
    """Return the targets of a fault that were in sync somewhere when it began, and stayed so until it was healed; none
    if the system did not answer all the time."""
    if not _answered(fault, answered):
        return []
    standings = [placements.standings(place) for place in placements.places]
    return [target for target in fault.targets if _stayed(target, fault, standings)]


def changes(place: Place, standings: Sequence[Standing]) -> Iterator[Changed]:
    """Yield the changes of a partition's membership, in order of time, given where it was stored."""
    led = standings[0].leader if standings else ""
    for index, (before, now) in enumerate(pairwise(standings), 1):
        later = standings[index:]
        if before.in_sync is not None and now.in_sync is not None:
            for host in sorted(before.in_sync - now.in_sync):
                back_ns = next((standing.at_ns for standing in later if host in (standing.in_sync or ())), None)
                yield Changed(Change.OUT_OF_SYNC, place, now.at_ns, host, until_ns=back_ns)
        if before.leader and not now.leader:
            led_ns = next((standing.at_ns for standing in later if standing.leader), None)
            yield Changed(Change.NO_LEADER, place, now.at_ns, before.leader, until_ns=led_ns)
        elif now.leader and now.leader != led:
            yield Changed(Change.NEW_LEADER, place, now.at_ns, now.leader, before=led)
        elif now.epoch is not None and before.epoch is not None and now.epoch > before.epoch:
            yield Changed(Change.NEW_EPOCH, place, now.at_ns, now.leader)
        led = now.leader or led
        for what, hosts in ((Change.LEFT, before.holders - now.holders), (Change.JOINED, now.holders - before.holders)):
            for host in sorted(hosts):
                yield Changed(what, place, now.at_ns, host)


def _unlooked(fault: Fault, placements: Placements, answered: Sequence[Sequence[int]]) -> list[str]:
    """Return why nobody saw what a fault did to the system, if it did anything at all."""
    doubts = [] if fault.effective_ns is not None else ["its effect was not proved"]
    if hits_clients(fault):
        return doubts
    if not placements.places:
        doubts.append("leaders and in-sync replicas were not recorded")
    elif not _answered(fault, answered):
        doubts.append("the system did not answer all the time")
    return doubts


def _own(fault: Fault, faults: Sequence[Fault], since_ns: Mapping[Changed, int]) -> Iterator[Changed]:
    """Yield the changes that may be those of a fault; `since_ns`: all changes, and since when each may have been."""
    of_clients, until_ns = hits_clients(fault), _until_ns(fault, faults)
    for change, since in since_ns.items():
        possible = (change.what in _OF_READERS or not of_clients) and fault.start_ns <= change.at_ns
        if possible and since <= until_ns and not _of_another(change, fault, faults):
            yield change


def _unmeasured(
    experienced: Mapping[str, Any] | None, beyond_machine: Mapping[str, Any] | None, late_ms: float
) -> Iterator[str]:
    """Yield why nobody can tell what clients experienced, if so."""
    if experienced is None:
        yield "nothing was sent while it held"
    if experienced and beyond_machine is None:
        yield f"the machine was up to {late_ms:,.0f} ms late on its own, which may be all that changed"


def _of_others(fault: Fault, faults: Sequence[Fault], open_findings: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    """Yield what else of the run may belong to a fault."""
    for name, last_ns, count in open_findings:
        if last_ns >= fault.start_ns:
            yield f"{count:,} {name} without an explanation, which it may have caused"
    if any(_overlap(fault, other) for other in faults if other is not fault):
        yield "another fault held at the same time, and nothing else changed"


def hits_clients(fault: Fault) -> bool:
    """Return whether a fault is one of clients; one that is not installed may be of anything."""
    return fault.kind in plugins.names("nemesis") and installed.nemesis(fault.kind).hits == "clients"


def _membership(changes: Sequence[Changed]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for what in Change:
        own = [change for change in changes if change.what is what]
        if own:
            named = (change.host if what in _OF_HOSTS else _name(change.place) for change in own)
            content[what.value.replace("-", "_")] = list(dict.fromkeys(named))
    return {**content, "membership": [change.as_json() for change in changes]} if changes else {}


def _findings_by_fault(explained: Explained, ended: Mapping[int, Mapping[str, int]]) -> dict[int, dict[str, Any]]:
    """Return how many findings of each anomaly each fault explains, alone or with others."""
    counts: dict[int, dict[str, int]] = {number: dict(own) for number, own in ended.items()}
    for name, causes in explained.causes.items():
        for cause, count in causes:
            for effect in cause.story.faults if cause is not None else ():
                own = counts.setdefault(effect.number, {})
                own[name] = own.get(name, 0) + count
    return {number: {"found": own} for number, own in counts.items()}


def _without_cause(explained: Explained) -> list[tuple[str, int, int]]:
    """Return the anomalies of which nothing explains all findings: name, time of the last finding, and how many."""
    open_ = {name: sum(count for cause, count in causes if cause is None) for name, causes in explained.causes.items()}
    return [(name, last_ns, open_[name]) for name, _, last_ns, _ in _dated(explained) if open_.get(name)]


def _unasked(explained: Explained) -> list[tuple[str, int, int, int]]:
    """Return the anomalies that no fault explains: name, times of the first and the last finding, and their number."""
    by_fault = {
        name for name, causes in explained.causes.items() if any(cause and cause.story.faults for cause, _ in causes)
    }
    return [dated for dated in _dated(explained) if dated[0] not in by_fault]


def _dated(explained: Explained) -> list[tuple[str, int, int, int]]:
    """Return the anomalies whose findings all have a time: name, first and last time, and their number. Measurements of
    times are not among them: what clients experienced is told apart."""
    times = explained.findings.select(["anomaly", "at_ns"])
    by_anomaly = (
        times.set_column(0, "anomaly", times["anomaly"].cast("string"))
        .group_by("anomaly")
        .aggregate([("at_ns", "min"), ("at_ns", "max"), ("at_ns", "count"), ([], "count_all")])
    )
    known = installed.anomalies()
    return [
        (row["anomaly"], row["at_ns_min"], row["at_ns_max"], row["count_all"])
        for row in by_anomaly.to_pylist()
        if row["at_ns_count"] == row["count_all"]
        and (not known[row["anomaly"]].measured or known[row["anomaly"]].notable)
    ]


def _of_another(changed: Changed, fault: Fault, faults: Sequence[Fault]) -> bool:
    """Return whether a change is that of a host which another fault hit at that time, and this one did not."""
    host = changed.before or changed.host if changed.what is Change.NEW_LEADER else changed.host
    if changed.what not in _LOSSES or host in fault.targets:
        return False
    return any(
        host in fault.targets and fault.start_ns <= changed.at_ns <= _until_ns(fault, faults) for fault in faults
    )


def _until_ns(fault: Fault, faults: Sequence[Fault]) -> float:
    if fault.healed_ns is None:
        return inf
    following_ns = min((other.start_ns for other in faults if other.start_ns > fault.start_ns), default=inf)
    return max(fault.healed_ns, min(fault.healed_ns + LATE_NS, following_ns - 1))


def _unseen_since_ns(changed: Changed, answered: Sequence[Sequence[int]]) -> int:
    """Return since when a change may have been there: it is seen when the system answers again."""
    begins = [first for first, _ in answered]
    earlier = [last for _, last in answered if last < changed.at_ns]
    return max(earlier) if changed.at_ns in begins and earlier else changed.at_ns


def _answered(fault: Fault, answered: Sequence[Sequence[int]]) -> bool:
    """Return whether the system answered while a fault held, until its healing or the last answer of the run."""
    end_ns = fault.healed_ns if fault.healed_ns is not None else max((last for _, last in answered), default=0)
    return any(first <= fault.start_ns and last >= end_ns - LOOK_NS for first, last in answered)


def _overlap(fault: Fault, other: Fault) -> bool:
    ends = [inf if candidate.healed_ns is None else candidate.healed_ns for candidate in (fault, other)]
    return max(fault.start_ns, other.start_ns) <= min(ends)


def _stayed(host: str, fault: Fault, standings: Sequence[Sequence[Standing]]) -> bool:
    member = False
    for partition_standings in standings:
        begin = [standing for standing in partition_standings if standing.at_ns <= fault.start_ns][
            -1:
        ] or partition_standings[:1]
        end_ns = inf if fault.healed_ns is None else fault.healed_ns
        during = [standing for standing in partition_standings if fault.start_ns < standing.at_ns <= end_ns]
        if any(host in (standing.in_sync or ()) for standing in begin):
            member = True
            if any(host not in (standing.in_sync or ()) for standing in during):
                return False
    return member


def _name(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def _ms(at_ns: int) -> float:
    return round(at_ns / 1e6, 1)


def _when(changed: Changed) -> tuple[int, Place]:
    return changed.at_ns, changed.place
