"""Takes samples of what the digests of a run show of a log: of all that may be wrong with it.

What was acknowledged and is in the log, and what nobody knows to have been sent, is as it should be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chaoskit.history.digesting.digest import Digest
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.intervals import Intervals, Ints
from chaoskit.judge.digested.positions import BlockPositions
from chaoskit.judge.digested.samples import UNKNOWN, Fact, Sample, anomalies_of
from chaoskit.judge.digested.sets import DigestSets
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import PAYLOADS
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.place import Place

_OK, _FAIL, _INFO = OUTCOMES
_FIRST, _LATER = (0, 0), (1, 1)
"""Positions of which nothing is known but which one is the lower one."""

_NOTED = (
    (Fact(_INFO), Fact(positions=_FIRST), Fact(positions=_LATER)),
    (Fact(_INFO), Fact(_INFO, other=True), Fact(positions=_FIRST, other=True), Fact(positions=_LATER)),
    *((Fact(_INFO), Fact(payload=payload)) for payload in PAYLOADS[1:]),
)
"""What readers noted of a message by each of `ODDITIES`. How its send ended is judged apart."""


@dataclass(frozen=True)
class DigestSamples:
    """Samples of the digests of a run.

    Attributes:
        digests: the digests of all clients.
        sets: the sets of all together.
        routes: the routes of the load.
        places: topic and partition of each route.
        block_rows: the blocks of acknowledged messages, disjoint; see `chaoskit.history.digesting.blocks`.
        origin_ns: start of the run, CLOCK_MONOTONIC.
    """

    digests: Sequence[Digest]
    sets: DigestSets
    routes: Routes
    places: Sequence[Place]
    block_rows: Ints
    origin_ns: int

    def judged(self, audits: Mapping[Place, Audit | None]) -> list[tuple[Sample, str]]:
        """Return samples, each with the name of an anomaly that the checkers find of it.

        If the final read of any partition was not complete, none counts as complete.

        Args:
            audits: the final read of each partition.
        """
        bounds = {place: audit for place, audit in audits.items() if isinstance(audit, Bounds)}
        complete = bool(audits) and all(place in bounds and bounds[place].complete for place in audits)
        bounds = {place: replace(own, complete=complete) for place, own in bounds.items()}
        by_audit = [*self._missing(bounds, complete=complete), *self._strange(), *self._misrouted()]
        noted = list(self._noted())
        # What the final read itself noted is not to be judged by what it did not find.
        names = [*anomalies_of(by_audit, bounds), *anomalies_of(noted, {})]
        return [(sample, name) for sample, own in zip([*by_audit, *noted], names, strict=True) for name in own]

    def _missing(self, bounds: Mapping[Place, Bounds], *, complete: bool) -> Iterator[Sample]:
        """Yield what was acknowledged and the final read does not have; if it was not complete, nobody."""
        acked, kept, read = self.sets.acked, self.sets.kept, self.sets.read
        ordered = not any(digest.counted.get("disordered", 0) for digest in self.digests)
        positions = BlockPositions(self.routes, self.block_rows, acked=acked, kept=kept, ordered=ordered)
        gone = acked.minus(kept)
        seen, unseen = gone.common(read) if complete else Intervals(), gone.minus(read)
        for route, place in enumerate(self.places):
            own = bounds.get(place)
            low, dense = own.low if own else 0, own is not None and self._dense(place, own.low)
            for missing, received in ((unseen, False), (seen, True)):
                for messages, where in positions.of_missing(missing, route, low, dense=dense):
                    # Whoever received it knew a position; the lowest one proves nothing of a log that begins later.
                    facts = (Fact(_OK, where), Fact(positions=_FIRST if where == UNKNOWN else where))
                    value = int(self.routes.values(messages.starts[:1])[0])
                    yield Sample(place, facts if received else facts[:1], messages, value)

    def _dense(self, place: Place, first: int) -> bool:
        """Return whether the final read found a message of a partition at every position from the first one on."""
        for digest in self.digests:
            for name, partition, _, _, low, high, count in digest.reads.tolist():
                if digest.client.startswith(AUDITOR) and (str(digest.names[name - 1]), partition) == place:
                    return bool(low == first and high - low + 1 == count)
        return False

    def _strange(self) -> Iterator[Sample]:
        """Yield what was received, and not acknowledged: it was not sent, or its send had failed."""
        strange = self.sets.kept.minus(self.sets.acked)
        strange.update(self.sets.read.minus(self.sets.acked))
        for messages, facts in (
            (strange.minus(self.sets.sent), (Fact(),)),
            (strange.common(self.sets.failed), (Fact(_FAIL), Fact())),
        ):
            values = self.routes.values(messages.starts)
            edges = zip(messages.starts[:, None], messages.ends[:, None], strict=True)
            for value, route, edge in zip(values.tolist(), self.routes.of(values).tolist(), edges, strict=True):
                yield Sample(self.places[route], facts, Intervals(*edge), value)

    def _misrouted(self) -> Iterator[Sample]:
        """Yield what was received from another partition than it was sent to."""
        for digest in self.digests:
            for name, partition, route in digest.routed.tolist():
                place = str(digest.names[name - 1]), partition
                if self.places[route] != place:
                    yield Sample(place, (Fact(), Fact(_INFO, elsewhere=self.places[route])), Intervals(), None)

    def _noted(self) -> Iterator[Sample]:
        """Yield what readers noted."""
        for digest in self.digests:
            starts = self.routes.places(digest.odd["value"])[:, None]
            for row, start in zip(digest.odd.tolist(), starts, strict=True):
                kind, name, partition, value, position, at_ns, other = row
                place, messages = (str(digest.names[name - 1]), partition), Intervals(start, start + 1)
                known = (number if number >= 0 else None for number in (position, at_ns - self.origin_ns, other))
                yield Sample(place, _NOTED[kind], messages, value, *known)
