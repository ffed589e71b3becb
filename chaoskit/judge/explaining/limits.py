"""Messages that a limit took: `Limit`. The record must show that it was reached at that time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import PARTS_CONNECTIONS
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.guarantees.mechanism import Limit, Measure
from chaoskit.contract.workloads.traits import Group
from chaoskit.contract.workloads.workload import CONSUMER
from chaoskit.judge.explaining.behind import derive_behind
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.concerned import back_ns, lacking
from chaoskit.judge.explaining.derived import Derived, Story, joined
from chaoskit.judge.explaining.harms import causes_of_election
from chaoskit.judge.explaining.links import LinkInterruption, Links
from chaoskit.judge.explaining.ordered import derive_deleted, derive_set_ahead, derive_set_back
from chaoskit.judge.explaining.record import LOOK_NS, NEVER, NONE, Flags, Ints, Record, last_ns
from chaoskit.judge.explaining.ways import ended_ns
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.place import Place

_NOT_COUNTED = "messages were not recorded one by one"


def derive_limit(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which findings exceed a limit that was reached."""
    return _DERIVE[mechanism.measure](record, mechanism, cases)


def _shown(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    derived = Derived.nothing(cases.size)
    derived.tell(np.arange(cases.size), Story())
    return derived


def _aged(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages were old enough at the end of the run, by the clock of those that deleted them."""
    derived = Derived.nothing(cases.size)
    written_ns = cases.message.written_ns
    end_ns = _end_ns(record, cases)
    age_ns = np.where(cases.message.known, end_ns - written_ns, 0)
    old = age_ns >= mechanism.most
    derived.tell(np.flatnonzero(old), Story())
    for place, rows in cases.by_place():
        for effect in record.effects:
            if effect.ahead_ns and _on_holder(record, place, effect):
                until_ns = min(end_ns, effect.over_ns)
                meanwhile_ns = until_ns - written_ns[rows]
                aged = (meanwhile_ns >= 0) & (meanwhile_ns + effect.ahead_ns >= mechanism.most)
                held = rows[cases.message.known[rows] & aged]
                words = f"the clock of {', '.join(effect.targets)} was ahead"
                derived.tell(held, Story(f"{words} ({effect.dated})", (effect,)))
    return derived


def _end_ns(record: Record, cases: Cases) -> int:
    """Return when the run was over: the last thing that is known of it."""
    known = cases.at_ns[cases.at_ns != NEVER]
    last = int(known.max(initial=0))
    return last if record.history is None else max(last, last_ns(record.history))


def _on_holder(record: Record, place: Place, effect: Effect) -> bool:
    holders = record.placements.holders(place, effect.start_ns, effect.healed_ns)
    return holders is None or bool(holders & set(effect.targets))


def _waited(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages found as many waiting for each consumer that lacks them as may wait."""
    derived = Derived.nothing(cases.size)
    if record.history is None:
        derived.doubt(np.arange(cases.size), _NOT_COUNTED)
        return derived
    full = np.ones(cases.size, np.bool_)
    for name, rows in lacking(record, cases):
        full[rows] &= _waiting(record, name, cases, rows) >= mechanism.most
    derived.tell(np.flatnonzero(full), Story())
    return derived


def _waiting(record: Record, client: str, cases: Cases, rows: Ints) -> Ints:
    """Return how many messages of all topics waited for a client when each of some was written: the limit is that of
    its session or connection, over which all come."""
    at_ns = cases.message.acked_ns[rows]
    at_ns = np.where(at_ns == FOREVER, cases.message.written_ns[rows], at_ns)
    sent_ns, arrived_ns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place in record.places:
        sends, receipts = record.sends(place), record.receipts(place).get(client)
        if sends is None or receipts is None or not receipts.value.size:
            continue
        got = np.zeros(sends.value.size, np.bool_)
        at = sends.rows_of(receipts.value)
        got[at[at != NONE]] = True
        sent_ns.append(sends.start_ns[got])
        arrived_ns.append(receipts.at_ns[at != NONE])
    sent = np.searchsorted(np.sort(np.concatenate(sent_ns)), at_ns, side="right")
    waiting: Ints = sent - np.searchsorted(np.sort(np.concatenate(arrived_ns)), at_ns, side="right")
    return waiting


def _followed(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages were followed by as many of their producer before each consumer that lacks them received
    one of those; while its way was interrupted, if it must have been."""
    derived = Derived.nothing(cases.size)
    if record.history is None:
        derived.doubt(np.arange(cases.size), _NOT_COUNTED)
        return derived
    reached, faults = np.ones(cases.size, np.bool_), dict[int, tuple[Effect, ...]]()
    for name, rows in lacking(record, cases):
        for place, here in cases.by_place(rows):
            values = cases.message.value[here]
            next_ns = _next_ns(record, place, name, values)
            if mechanism.path:
                _interrupted(record, mechanism, cases, (place, name), here, next_ns, reached, faults)
            else:
                reached[here] &= _followers(record, place, values, next_ns) >= mechanism.most
    together: dict[tuple[Effect, ...], list[int]] = {}
    for row in np.flatnonzero(reached).tolist():
        together.setdefault(faults.get(row, ()), []).append(row)
    for causes, rows_of_them in together.items():
        derived.tell(np.array(rows_of_them), Story("", causes))
    return derived


def _interrupted(  # noqa: PLR0917 - what a way is, and what is known of it
    record: Record,
    mechanism: Limit,
    cases: Cases,
    way: tuple[Place, str],
    rows: Ints,
    next_ns: Ints,
    reached: Flags,
    faults: dict[int, tuple[Effect, ...]],
) -> None:
    """Note which messages were written, and not received, while their way was interrupted, and were followed by enough
    others until it was whole again."""
    place, consumer = way
    written_ns = cases.message.written_ns[rows]
    held = np.zeros(rows.size, np.bool_)
    links = Links(record)
    for number in np.unique(cases.message.value[rows] >> PRODUCER_SHIFT).tolist():
        own = cases.message.value[rows] >> PRODUCER_SHIFT == number
        producer = record.producer_of(place, int(cases.message.value[rows][own][0]))
        gaps = links.interruptions(mechanism.path, place, producer, consumer, mechanism.by, mechanism.patience_ns)
        for gap in gaps:
            overlaps = own & (written_ns <= gap.until_ns) & (next_ns >= gap.start_ns)
            until_ns = np.maximum(next_ns, gap.until_ns)
            overlaps &= _followers(record, place, cases.message.value[rows], until_ns) >= mechanism.most
            faults.update(dict.fromkeys(rows[overlaps & ~held].tolist(), (gap.effect,)))
            held |= overlaps
    reached[rows[~held]] = False


def _next_ns(record: Record, place: Place, client: str, values: Ints) -> Ints:
    """Return for each message when a client received a later one of its producer; `FOREVER`: never."""
    receipts = record.receipts(place).get(client)
    if receipts is None or not receipts.value.size:
        return np.full(values.size, FOREVER)
    at = np.searchsorted(receipts.value, values, side="right")
    known = np.minimum(at, receipts.value.size - 1)
    same = (at < receipts.value.size) & (receipts.value[known] >> PRODUCER_SHIFT == values >> PRODUCER_SHIFT)
    return np.where(same, receipts.at_ns[known], FOREVER)


def _followers(record: Record, place: Place, values: Ints, until_ns: Ints) -> Ints:
    """Return for each message how many of its producer were sent after it until a time."""
    sends, count = record.sends(place), np.zeros(values.size, np.int64)
    if sends is None:
        return count
    for producer in np.unique(values >> PRODUCER_SHIFT).tolist():
        own, mine = sends.value >> PRODUCER_SHIFT == producer, values >> PRODUCER_SHIFT == producer
        begun = np.searchsorted(np.maximum.accumulate(sends.start_ns[own]), until_ns[mine], side="right")
        count[mine] = begun - np.searchsorted(sends.value[own], values[mine], side="right")
    return count


def _held(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages a consumer had held for that long."""
    derived = Derived.nothing(cases.size)
    known = cases.since_ns != NEVER
    derived.tell(np.flatnonzero(known & (cases.at_ns - np.where(known, cases.since_ns, 0) >= mechanism.most)), Story())
    return derived


def _ahead(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which findings came while a clock of a host that stores the partition was ahead."""
    derived = Derived.nothing(cases.size)
    for place, rows in cases.by_place():
        for effect in record.effects:
            if effect.ahead_ns and _on_holder(record, place, effect):
                held = (cases.at_ns[rows] >= effect.start_ns) & (cases.at_ns[rows] <= effect.over_ns)
                derived.tell(rows[held], Story(effect.aimed, (effect,)))
    return derived


def _absent(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which findings follow an absence, of their consumer or of all members of its group, of that length."""
    links, derived = Links(record), Derived.nothing(cases.size)
    start_ns = np.where(cases.message.known, cases.message.written_ns, cases.since_ns)
    pairs = [("", np.arange(cases.size))] if mechanism.whole_group else list(lacking(record, cases))
    for name, rows in pairs:
        for place, here in cases.by_place(rows):
            for from_ns, until_ns, faults in _absences(record, links, mechanism, place, name):
                if until_ns != FOREVER and until_ns - from_ns < mechanism.most:
                    continue
                held = (start_ns[here] <= until_ns) & (cases.at_ns[here] >= from_ns)
                who = name or "all members"
                derived.tell(here[held], Story(f"{who} was away from {from_ns / 1e9:.1f} s on", faults))
    return derived


def _left(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages had waited for that long when the consumer that lacks them was back; if it never was, when
    the run was over."""
    links, derived = Links(record), Derived.nothing(cases.size)
    written_ns = np.where(cases.message.known, cases.message.written_ns, FOREVER)
    end_ns = _end_ns(record, cases)
    for name, rows in lacking(record, cases):
        for place, here in cases.by_place(rows):
            for gap in links.interruptions(mechanism.path, place, "", name, PARTS_CONNECTIONS):
                back_at_ns = min(back_ns(record, place, name, gap), end_ns)
                waited = (cases.at_ns[here] >= gap.start_ns) & (back_at_ns - written_ns[here] >= mechanism.most)
                words = f"it waited for {name}, which was away from {gap.start_ns / 1e9:.1f} s on"
                derived.tell(here[waited], Story(words, (gap.effect,)))
    return derived


def _absences(
    record: Record, links: Links, mechanism: Limit, place: Place, client: str
) -> list[tuple[int, int, tuple[Effect, ...]]]:
    """Return the times in which a client, or every member of a group, was away."""
    if client or not mechanism.whole_group:
        gaps = links.interruptions(mechanism.path, place, "", client, PARTS_CONNECTIONS)
        return [(gap.start_ns, back_ns(record, place, client, gap), (gap.effect,)) for gap in gaps]
    by_group: dict[int, list[str]] = {}
    group = record.declared.get(Group)
    for member in record.clients(CONSUMER):
        number = member.rpartition("-")[2]
        by_group.setdefault(int(number) % (group.count if group else 1) if number.isdecimal() else 0, []).append(member)
    away = []
    for members in by_group.values():
        times = [links.interruptions(mechanism.path, place, "", member, PARTS_CONNECTIONS) for member in members]
        for gap in times[0] if times else ():
            others = [_overlapping(gap, some) for some in times[1:]]
            if all(others):
                chosen = [gap, *(other for other in others if other is not None)]
                from_ns, until_ns = max(one.start_ns for one in chosen), min(one.until_ns for one in chosen)
                away.append((from_ns, until_ns, joined([one.effect for one in chosen])))
    return away


def _overlapping(gap: LinkInterruption, others: list[LinkInterruption]) -> LinkInterruption | None:
    return next((one for one in others if one.start_ns <= gap.until_ns and gap.start_ns <= one.until_ns), None)


def _unanswered(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages waited for their answer for too long, whatever the reason; not those that nobody ended."""
    derived = Derived.nothing(cases.size)
    for message in cases.messages:
        for place, rows in cases.by_place(np.flatnonzero(message.known)):
            answered_ns = ended_ns(record, place, message.value[rows], message.acked_ns[rows])
            late = (answered_ns != FOREVER) & (answered_ns - message.written_ns[rows] >= mechanism.most)
            if record.sends(place) is None:
                derived.doubt(rows[answered_ns == FOREVER], "when its send ended was not recorded")
            derived.tell(rows[late], Story(f"its answer took longer than {mechanism.most / SECOND:g} s"))
    return derived


def _led(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which findings another leader of the partition lies within: a former one may go on for a while after it
    was replaced, also once the fault is over that replaced it."""
    derived = Derived.nothing(cases.size)
    for place, rows in cases.by_place():
        known = rows[cases.since_ns[rows] != NEVER]
        for change in record.placements.new_leaders(place):
            within = (cases.since_ns[known] <= change.at_ns) & (cases.at_ns[known] >= change.at_ns - LOOK_NS)
            causes = causes_of_election(record, {change.before}, change.at_ns, change.at_ns, 0)
            words = f"{change.before} did not lead any more, seen at {change.at_ns / 1e9:.1f} s"
            derived.tell(known[within], Story(words, causes))
    return derived


_DERIVE: dict[Measure, Callable[[Record, Limit, Cases], Derived]] = {
    Measure.SHOWN: _shown,
    Measure.AGE: _aged,
    Measure.DELETED: derive_deleted,
    Measure.SET_BACK: derive_set_back,
    Measure.SET_AHEAD: derive_set_ahead,
    Measure.HELD: _held,
    Measure.NEWER: _followed,
    Measure.WAITING: _waited,
    Measure.LEFT: _left,
    Measure.ABSENT: _absent,
    Measure.BEHIND: derive_behind,
    Measure.CLOCK: _ahead,
    Measure.ANSWER: _unanswered,
    Measure.LED: _led,
}
