"""Messages that were lost on their way, sent again, or given again: `Way`, `Retry` and `Session`.

Each pair of a message and a client whose way it took is looked at by itself. A way in order passes messages one after
another: one that was followed by another that arrived before the interruption was not there any more.

Cost: O(n log n) in messages of the partitions, for each client and fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from chaoskit.contract.guarantees.act import Messages
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.guarantees.mechanism import Party, Retry, Session, Way
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER
from chaoskit.judge.explaining.cases import Cases, ConcernedMessage
from chaoskit.judge.explaining.concerned import back_ns, lacking
from chaoskit.judge.explaining.crashes import process_of
from chaoskit.judge.explaining.derived import Derived, Story, joined
from chaoskit.judge.explaining.links import LinkInterruption, Links
from chaoskit.judge.explaining.record import CLOCKS_NS, NEVER, NONE, Flags, Ints, Record
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.place import Place

_NOBODY_LED = "the record does not show who led the partition"
_DIGESTED = "messages were not recorded one by one, so it is unknown which of them arrived"
_NO_CLIENT = "the record does not say which client it was"


class _Trip(NamedTuple):
    """Findings whose messages took one way, each with the time in which it was on it.

    Attributes:
        rows: the findings.
        place: the partition.
        producer, consumer: names of the clients; empty if there is none on the way.
        value: the messages.
        start_ns, end_ns: since when until when each was on the way as far as that is known.
    """

    rows: Ints
    place: Place
    producer: str
    consumer: str
    value: Ints
    start_ns: Ints
    end_ns: Ints


def derive_way(record: Record, mechanism: Way, cases: Cases) -> Derived:
    """Return which messages were lost on their way; all clients that lack one must explain it."""
    links, derived = Links(record), Derived.nothing(cases.size)
    consumed = Party.CONSUMER in mechanism.path or mechanism.for_consumer
    for message in cases.messages:
        pending = np.zeros(cases.size, np.int64)
        stories: dict[int, tuple[Story, ...]] = {}
        trips = list(_trips(record, cases, message, consumed=consumed))
        for trip in trips:
            pending[trip.rows] += 1
        of_how_many = pending.copy()
        for trip in trips:
            if not links.knows(mechanism.path, trip.place):
                derived.doubt(trip.rows, _NOBODY_LED)
                continue
            if mechanism.in_order and record.digest is not None:
                derived.doubt(trip.rows, _DIGESTED)
            for rows, story in _explained_losses(record, links, mechanism, trip):
                only = of_how_many[rows] == 1
                derived.tell(rows[only], story)
                pending[rows] -= 1
                for row in rows[~only].tolist():
                    stories[row] = (*stories.get(row, ()), story)
        _tell_complete(derived, {row: its_own for row, its_own in stories.items() if pending[row] == 0})
    return derived


def _tell_complete(derived: Derived, stories: Mapping[int, tuple[Story, ...]]) -> None:
    """Tell findings of which every client has a story: those with the same stories at once."""
    rows_of: dict[tuple[Story, ...], list[int]] = {}
    for row, its_own in stories.items():
        rows_of.setdefault(its_own, []).append(row)
    for its_own, rows in rows_of.items():
        derived.tell(np.array(rows), _merged(its_own))


def derive_retry(record: Record, mechanism: Retry, cases: Cases) -> Derived:
    """Return which messages their clients may have sent again, because the answer was lost while they were in
    flight."""
    links, derived = Links(record), Derived.nothing(cases.size)
    for message in cases.messages:
        for answered in _trips(record, cases, message, consumed=False):
            trip = answered._replace(end_ns=_later(answered.end_ns, mechanism.after_ns))
            if not links.knows(mechanism.path, trip.place):
                derived.doubt(trip.rows, _NOBODY_LED)
                continue
            gaps = links.interruptions(
                mechanism.path, trip.place, trip.producer, "", mechanism.by, mechanism.patience_ns
            )
            for gap in gaps:
                if not _long(gap, mechanism.longer_ns):
                    continue
                held = _overlaps(trip, gap)
                if gap.late or mechanism.unanswered:
                    held &= trip.end_ns - trip.start_ns >= max(mechanism.patience_ns, 1)
                derived.tell(trip.rows[held], _story(gap))
            for rows, story in _answers_lost(links, mechanism, trip):
                derived.tell(rows, story)
    return derived


def _later(at_ns: Ints, after_ns: int) -> Ints:
    return np.where(at_ns == FOREVER, at_ns, at_ns + after_ns)


def derive_session(record: Record, mechanism: Session, cases: Cases) -> Derived:
    """Return which findings of clients follow from an end of a session between what they had and what was found."""
    links, derived = Links(record), Derived.nothing(cases.size)
    start_ns = np.where(cases.since_ns != NEVER, cases.since_ns, cases.message.written_ns)
    start_ns = np.where(start_ns == NEVER, cases.at_ns, np.minimum(start_ns, cases.at_ns))
    clients = _clients(record, mechanism, cases)
    for place, rows in cases.by_place():
        if mechanism.process and process_of(place) != mechanism.process:
            continue
        if not links.knows(mechanism.path, place):
            derived.doubt(rows, _NOBODY_LED)
            continue
        for client in sorted({clients[row] for row in rows.tolist()}):
            own = np.array([row for row in rows.tolist() if clients[row] == client], np.int64)
            if not client and not mechanism.group and {Party.CONSUMER, Party.PRODUCER} & set(mechanism.path):
                derived.doubt(own, _NO_CLIENT)
                continue
            for gap in _ends(record, links, mechanism, place, client):
                until_ns = back_ns(record, place, client, gap)
                shown_ns = until_ns if until_ns == FOREVER else until_ns + mechanism.after_ns
                held = (start_ns[own] <= shown_ns) & (cases.at_ns[own] >= gap.start_ns)
                derived.tell(own[held], _story(gap))
    return derived


def _ends(record: Record, links: Links, mechanism: Session, place: Place, client: str) -> Iterator[LinkInterruption]:
    """Yield what may have ended the session of a client, or of any of them."""
    producers, consumers = [client], [client]
    if mechanism.group:
        producers = record.clients(PRODUCER) if Party.PRODUCER in mechanism.path else [""]
        consumers = record.clients(CONSUMER) or [client]
    elif Party.PRODUCER in mechanism.path and Party.CONSUMER in mechanism.path:
        producers = record.clients(PRODUCER) or [""]
    seen = set()
    for producer in producers:
        for consumer in consumers:
            gaps = links.interruptions(mechanism.path, place, producer, consumer, mechanism.by, mechanism.patience_ns)
            for gap in gaps:
                if _long(gap, mechanism.longer_ns) and gap not in seen:
                    seen.add(gap)
                    yield gap
    for name in dict.fromkeys((*producers, *consumers)):
        yield from _messages_of(links, mechanism, place, name)


def _messages_of(links: Links, mechanism: Session, place: Place, client: str) -> Iterator[LinkInterruption]:
    """Yield what was done to single messages of a client."""
    for effect, site in links.on_messages(mechanism.path, place, client):
        asked = effect.messages
        if asked is not None and (asked.loses or asked.fails or asked.doubles or _late(asked, mechanism.patience_ns)):
            words = _words_of(effect, asked, client, site.name)
            yield LinkInterruption(effect.start_ns - CLOCKS_NS, effect.over_ns, effect, words)


def _clients(record: Record, mechanism: Session, cases: Cases) -> list[str]:
    """Return the client whose session each finding is about: whoever experienced it, or sent the message; empty if that
    is unknown."""
    if Party.PRODUCER in mechanism.path and Party.CONSUMER not in mechanism.path:
        numbers = np.stack([cases.place_of, cases.message.value >> PRODUCER_SHIFT])
        _, first, index = np.unique(numbers, axis=1, return_index=True, return_inverse=True)
        sent = zip(cases.place_of[first].tolist(), cases.message.value[first].tolist(), strict=True)
        senders = [record.producer_of(cases.places[place], value) for place, value in sent]
        return [senders[at] for at in index.ravel().tolist()]
    codes = np.unique(cases.op)
    names = dict(zip(codes.tolist(), record.clients_of(codes), strict=True))
    return [names[op] for op in cases.op.tolist()]


def _trips(record: Record, cases: Cases, message: ConcernedMessage, *, consumed: bool) -> Iterator[_Trip]:
    """Yield findings by partition, producer and, if a consumer is on the way, each consumer that lacks the message."""
    producers = message.value >> PRODUCER_SHIFT
    pairs = lacking(record, cases) if consumed else [("", np.arange(cases.size))]
    for client, concerned in pairs:
        rows = concerned[message.known[concerned]]
        for place, here in cases.by_place(rows):
            for producer in np.unique(producers[here]).tolist():
                own = here[producers[here] == producer]
                value = message.value[own]
                until_ns = ended_ns(record, place, value, message.acked_ns[own])
                who = record.producer_of(place, int(value[0])), client
                yield _Trip(own, place, *who, value, message.written_ns[own], until_ns)


def ended_ns(record: Record, place: Place, value: Ints, acked_ns: Ints) -> Ints:
    """Return when the last send of each message ended: one that was not acknowledged may have been given up."""
    sends = record.sends(place)
    if sends is None or (acked_ns != FOREVER).all():
        return acked_ns
    rows = sends.rows_of(value)
    return np.where((acked_ns == FOREVER) & (rows != NONE), sends.end_ns[rows], acked_ns)


def _explained_losses(record: Record, links: Links, way: Way, trip: _Trip) -> Iterator[tuple[Ints, Story]]:
    """Yield findings that the way explains, each once."""
    gaps = [gap for gap in _of_trip(record, links, way, trip) if _long(gap, way.longer_ns)]
    explained = np.zeros(trip.rows.size, np.bool_)
    passed = _passed(record, trip) if way.in_order else None
    for gap in gaps:
        held = _overlaps(trip, gap) if passed is None else passed.held(trip, gap)
        if not way.in_order and trip.consumer:
            held |= (trip.start_ns > gap.until_ns) & (trip.start_ns <= _caught_up_ns(record, trip, gap))
        new = held & ~explained
        explained |= new
        if new.any():
            yield trip.rows[new], _story(gap)
    for effect, site in links.on_messages(way.path, trip.place, trip.producer):
        asked = effect.messages
        if asked is None or not (asked.loses or asked.fails) or not asked.among(way.names):
            continue
        new = _of_messages(effect, asked, trip) & ~explained
        explained |= new
        if new.any():
            yield trip.rows[new], Story(_words_of(effect, asked, trip.producer, site.name), (effect,))


def _of_trip(record: Record, links: Links, way: Way, trip: _Trip) -> Iterator[LinkInterruption]:
    """Yield the interruptions of a way, in order of time for each of the clients that count."""
    pairs = [(trip.producer, trip.consumer)]
    if way.anyone:
        producers = record.clients(PRODUCER) if Party.PRODUCER in way.path else [trip.producer]
        consumers = record.clients(CONSUMER) if Party.CONSUMER in way.path else [trip.consumer]
        pairs = [(producer, consumer) for producer in producers for consumer in consumers]
    for producer, consumer in pairs:
        for gap in links.interruptions(way.path, trip.place, producer, consumer, way.by, way.patience_ns):
            later_ns = gap.until_ns if gap.until_ns == FOREVER else gap.until_ns + way.after_ns
            yield replace(gap, until_ns=later_ns)


def _answers_lost(links: Links, mechanism: Retry, trip: _Trip) -> Iterator[tuple[Ints, Story]]:
    for effect, site in links.on_messages(mechanism.path, trip.place, trip.producer):
        asked = effect.messages
        if asked is None or not asked.among(mechanism.names):
            continue
        if effect.over_ns - effect.start_ns < mechanism.longer_ns:
            continue
        again = asked.loses or (asked.answers and asked.fails) or _late(asked, mechanism.patience_ns)
        if not again and not (asked.doubles and not asked.answers):
            continue
        held = _of_messages(effect, asked, trip)
        yield trip.rows[held], Story(_words_of(effect, asked, trip.producer, site.name), (effect,))


def _words_of(effect: Effect, asked: Messages, client: str, host: str) -> str:
    whose = client or "clients"
    return f"{asked.name} of {whose} at {host}: {effect.dated}"


def _late(asked: Messages, patience_ns: int) -> bool:
    return asked.late_ns is None or asked.late_ns > max(patience_ns, 0)


def _of_messages(effect: Effect, asked: Messages, trip: _Trip) -> Flags:
    """Return which messages were in flight at one of the instants at which something was done with a message: no more
    instants than there were such messages at most."""
    held: Flags = (trip.start_ns <= effect.over_ns) & (trip.end_ns >= effect.start_ns - CLOCKS_NS)
    if asked.most is None:
        return held
    chosen = np.zeros_like(held)
    rows = np.flatnonzero(held)
    rows = rows[np.argsort(trip.end_ns[rows], kind="stable")]
    instants, at_ns = 0, NEVER
    for row in rows.tolist():
        if trip.start_ns[row] > at_ns or instants == 0:
            instants, at_ns = instants + 1, int(trip.end_ns[row])
            if instants > asked.most:
                break
        chosen[row] = True
    return chosen


def _overlaps(trip: _Trip, gap: LinkInterruption) -> Flags:
    held: Flags = (trip.start_ns <= gap.until_ns) & (trip.end_ns >= gap.start_ns)
    return held


def _long(gap: LinkInterruption, longer_ns: int) -> bool:
    return not longer_ns or gap.until_ns == FOREVER or gap.until_ns - gap.start_ns - CLOCKS_NS >= longer_ns


class _Passed:
    """What arrived of the messages on a way: when each of them was sent, and when it arrived."""

    def __init__(self, start_ns: Ints, arrived_ns: Ints) -> None:
        order = np.argsort(start_ns, kind="stable")
        self._start_ns = start_ns[order]
        self._arrived_ns = arrived_ns[order]

    def held(self, trip: _Trip, gap: LinkInterruption) -> Flags:
        """Return which messages may have been on the way when it was interrupted, or before it was mended: no later one
        had arrived before the interruption, and no earlier one of after it."""
        held = _overlaps(trip, gap)
        before = np.flatnonzero(trip.end_ns < gap.start_ns)
        if before.size:
            early = self._start_ns[self._arrived_ns < gap.start_ns]
            newest = int(early.max(initial=NEVER))
            held[before] = trip.start_ns[before] > newest
        after = np.flatnonzero(trip.start_ns > gap.until_ns)
        if after.size:
            late = self._start_ns[np.searchsorted(self._start_ns, gap.until_ns, side="right") :]
            first = int(late[0]) if late.size else FOREVER
            held[after] = (trip.start_ns[after] < first) & (trip.start_ns[after] <= gap.mended_ns)
        return held


def _passed(record: Record, trip: _Trip) -> _Passed | None:
    """Return what arrived of the producer's messages; None if that was not recorded one by one."""
    sends = record.sends(trip.place)
    if sends is None:
        return None
    own = np.flatnonzero(sends.value >> PRODUCER_SHIFT == trip.value[0] >> PRODUCER_SHIFT)
    if trip.consumer:
        receipts = record.receipts(trip.place).get(trip.consumer)
        if receipts is None:
            return _Passed(own[:0], own[:0])
        at = receipts.rows_of(sends.value[own])
        got = at != NONE
        return _Passed(sends.start_ns[own[got]], receipts.at_ns[at[got]])
    kept = own[sends.acked[own] & ~np.isin(sends.value[own], trip.value)]
    return _Passed(sends.start_ns[kept], sends.end_ns[kept])


def _caught_up_ns(record: Record, trip: _Trip, gap: LinkInterruption) -> int:
    """Return until when the consumer still received what had been sent before a way was mended."""
    sends, receipts = record.sends(trip.place), record.receipts(trip.place).get(trip.consumer)
    if sends is None or receipts is None or gap.until_ns == FOREVER:
        return gap.until_ns
    rows = sends.rows_of(receipts.value)
    old = (rows != NONE) & (sends.start_ns[rows] <= gap.until_ns)
    return int(receipts.at_ns[old].max(initial=gap.until_ns))


def _story(gap: LinkInterruption) -> Story:
    return Story(gap.words, (gap.effect,))


def _merged(stories: Sequence[Story]) -> Story:
    words = dict.fromkeys(story.words for story in stories if story.words)
    return Story("; ".join(words), joined([fault for story in stories for fault in story.faults]))
