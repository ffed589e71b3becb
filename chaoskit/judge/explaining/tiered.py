"""Messages that only an object store had, which lost them: `Copies` with `tiered`.

Brokers delete a message themselves only once the store has acknowledged it, so that the final read's record of where
their own log began tells which messages those are. That the store was away takes none.
"""

from __future__ import annotations

from chaoskit.contract.guarantees.mechanism import Copies
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.harms import Harm, harms_of
from chaoskit.judge.explaining.record import CLOCKS_NS, NEVER, NONE, Ints, Record

_NOT_TOLD = "the final read does not tell which messages only the object store had"
_COPIED = "when a message was copied to the object store is not recorded"


def derive_tiered(record: Record, mechanism: Copies, cases: Cases) -> Derived:
    """Return which messages only the store had, were written before it was damaged, and so may be gone with it."""
    derived = Derived.nothing(cases.size)
    for place, rows in cases.by_place():
        harms = [harm for harm in harms_of(record, mechanism, place) if harm.host in mechanism.hosts]
        if not harms:
            continue
        local = record.local_start(place)
        known = (cases.position[rows] != NONE) & (cases.message.written_ns[rows] != NEVER)
        if local is None:
            derived.doubt(rows, _NOT_TOLD)
            continue
        derived.doubt(rows[~known], _NOT_TOLD)
        for harm in harms:
            _tell(derived, cases, rows[known & (cases.position[rows] < local)], harm)
    return derived


def _tell(derived: Derived, cases: Cases, rows: Ints, harm: Harm) -> None:
    """Tell those of some messages that a damage may have taken; the copy on the store is younger than the message."""
    before = rows[cases.message.written_ns[rows] <= harm.until_ns]
    if cases.reading:
        before = before[cases.at_ns[before] >= harm.effect.start_ns - CLOCKS_NS]
    recent = cases.message.written_ns[before] >= harm.since_ns
    words = f"only {harm.host} had it, which lost it ({harm.effect.dated})"
    derived.tell(before[recent], Story(words, (harm.effect,)))
    derived.doubt(before[~recent], _COPIED)
