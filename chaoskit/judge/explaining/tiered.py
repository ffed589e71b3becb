"""Messages that only an object store had, which lost them: `Copies` with `tiered`.

Brokers delete a message themselves only once the store has acknowledged it, so that the end of the final read, where
their own logs begin, tells which messages those are. Looks during the run tell which the store had when it was damaged:
a store that is dark acknowledges nothing. That it was away takes none.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.mechanism import Copies
from chaoskit.history.compacting.tiers import Tiered
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.harms import Harm, harms_of
from chaoskit.judge.explaining.record import CLOCKS_NS, NONE, Ints, Record

_DARK = Act.ENDS | Act.VANISHES
_ANSWERED_NS = SECOND
"""A look is dated when it begins; until it ends, more may be copied."""

_NOT_TOLD = "nobody told which messages only the object store had"
_COPIED = "whether the object store had a message when it was damaged is not recorded"


def derive_tiered(record: Record, mechanism: Copies, cases: Cases) -> Derived:
    """Return which messages only the store had, and had when it was damaged, and so may be gone with it."""
    derived = Derived.nothing(cases.size)
    for place, rows in cases.by_place():
        harms = [harm for harm in harms_of(record, mechanism, place) if harm.host in mechanism.hosts]
        local = record.local_start(place)
        if not harms:
            continue
        if local is None:
            derived.doubt(rows, _NOT_TOLD)
            continue
        known = cases.position[rows] != NONE
        derived.doubt(rows[~known], _NOT_TOLD)
        for harm in harms:
            _tell(derived, cases, rows[known & (cases.position[rows] < local)], harm, record.tiered(place))
    return derived


def _tell(derived: Derived, cases: Cases, rows: Ints, harm: Harm, looks: Sequence[Tiered]) -> None:
    """Tell those of some messages that a damage may have taken."""
    rows = rows[cases.message.written_ns[rows] <= harm.until_ns]
    if cases.reading:
        rows = rows[cases.at_ns[rows] >= harm.effect.start_ns - CLOCKS_NS]
    surely, perhaps = _stored(harm, looks)
    older = cases.message.written_ns[rows] < harm.since_ns
    words = f"only {harm.host} had it, which lost it ({harm.effect.dated})"
    derived.tell(rows[(cases.position[rows] < surely) & ~older], Story(words, (harm.effect,)))
    derived.doubt(rows[(cases.position[rows] < perhaps) & (older | (cases.position[rows] >= surely))], _COPIED)


def _stored(harm: Harm, looks: Sequence[Tiered]) -> tuple[float, float]:
    """Return up to which position the store surely had a partition when it was damaged, and up to which it may have."""
    dark_ns = min(harm.until_ns, harm.effect.start_ns + SECOND)
    dark = [look for look in looks if dark_ns <= look.at_ns < harm.effect.over_ns] if harm.effect.acts & _DARK else []
    if dark:
        return dark[0].until, dark[0].until
    before = [look.until for look in looks if look.at_ns + _ANSWERED_NS <= harm.effect.start_ns]
    after = [look.until for look in looks if look.at_ns >= harm.until_ns]
    return max(before, default=0), min(after, default=float("inf"))
