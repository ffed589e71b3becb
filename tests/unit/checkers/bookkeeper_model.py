"""A small BookKeeper: bookies, quorums, last confirmed entries, fencing and recovery, one step at a time.

Every message between a client and a bookie is a step of its own, in an order that is drawn, so that a recovery runs
while the writer goes on. It follows the protocol: an add is acknowledged in order, once ack quorum bookies have it; a
recovery fences bookies until no ack quorum can be without one of them, reads on from the last confirmed entry, takes an
entry to be missing once write quorum - ack quorum + 1 bookies lack it, writes back what it finds and closes the
metadata, which one client alone can do. Every entry goes to every bookie of the ensemble (E = Qw).
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field

from gallery_ledgers import L, confirmed, ended
from story import Row, Story, received, sent

from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.model.audit import Bounds

Steps = Generator[None, None, None]


@dataclass
class Bookie:
    """What one bookie has of the ledger: entries with the last confirmed entry that came with each."""

    entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    fenced: bool = False

    @property
    def confirmed(self) -> int:
        """One past the last confirmed entry that it knows of."""
        return max((confirmed for _, confirmed in self.entries.values()), default=0)


class BookKeeper:
    """One ledger and the history of its clients.

    Args:
        write: write quorum, which is also the ensemble.
        ack: ack quorum.
        fences: whether bookies refuse adds to a ledger that they fenced, as they must.
        source: of all that is drawn.
    """

    def __init__(self, write: int, ack: int, *, fences: bool, source: random.Random) -> None:
        self.story = Story(model=LEDGER)
        self.bookies = [Bookie() for _ in range(write)]
        self.end: int | None = None
        self._ack = ack
        self._fences = fences
        self._source = source
        self._now = 0
        self._value = 0
        self._refused = False
        self._acknowledged = 0
        self._pending: list[tuple[int, Row, int, set[int]]] = []

    def run(self, adds: int, recoveries: int, readers: int) -> None:
        """Let a writer, some recoveries and some readers take turns; then read everything."""
        going = [self._write(adds), *(self._recover(f"rec{number}") for number in range(recoveries))]
        going += [self._tail(f"r{number}") for number in range(readers)]
        while going:
            one = self._source.choice(going)
            if next(one, self) is self:
                going.remove(one)
        self.audit()

    def audit(self) -> None:
        """Recover the ledger once more and read it."""
        for _ in self._recover("auditor"):
            pass
        assert self.end is not None
        values = [self._read(entry) for entry in range(self.end)]
        rows = [received(L, value, entry) for entry, value in enumerate(values) if value is not None]
        self._done(self._begin("auditor", "read", *rows))
        self.story.audits[L] = Bounds(0, self.end, complete=True)

    def run_until_one_forgets(self, adds: int, steps: int) -> None:
        """Let a writer take so many steps; then it is gone, and so is all that one bookie had; then read everything."""
        writing = self._write(adds)
        for _ in range(steps):
            next(writing, None)
        self.bookies[0].entries.clear()
        self.audit()

    def add(self) -> None:
        """The writer adds a message that reaches every bookie at once, and is told what comes of it."""
        self._send()
        for bookie in range(len(self.bookies)):
            self._deliver(len(self._pending) - 1, bookie)
        self._acknowledge()

    def _write(self, adds: int) -> Steps:
        self._done(self._begin("w", "create", confirmed(0)))
        under_way: list[tuple[int, int]] = []
        while adds or under_way:
            if adds and not self._refused and self._source.random() < 0.4:
                self._send()
                adds -= 1
                under_way += [(len(self._pending) - 1, bookie) for bookie in range(len(self.bookies))]
            elif under_way:
                # Each bookie gets the adds in order; bookies run ahead of each other.
                bookie = self._source.choice(sorted({bookie for _, bookie in under_way}))
                add = next(pending for pending in under_way if pending[1] == bookie)
                under_way.remove(add)
                self._deliver(*add)
                self._acknowledge()
            elif self._refused:
                return
            yield

    def _send(self) -> None:
        op = self._begin("w", "add", sent(L, self._value), outcome="info")
        self._pending.append((op, self.story.messages[-1], self._acknowledged, set()))
        self._value += 1

    def _deliver(self, entry: int, number: int) -> None:
        bookie = self.bookies[number]
        _, row, known, acks = self._pending[entry]
        if bookie.fenced and self._fences:
            self._refused = True
        else:
            bookie.entries[entry] = row["value"], known
            acks.add(number)

    def _acknowledge(self) -> None:
        while self._acknowledged < len(self._pending) and not self._refused:
            op, row, _, acks = self._pending[self._acknowledged]
            if len(acks) < self._ack:
                return
            row["position"] = self._acknowledged
            self._done(op, "ok")
            self._acknowledged += 1

    def _recover(self, client: str) -> Steps:
        op = self._begin(client, "recover", ended(0))
        row = self.story.observations[-1]
        asked = self._source.sample(self.bookies, len(self.bookies) - self._ack + 1)
        for bookie in asked:
            bookie.fenced = True
            yield
        entry = max(bookie.confirmed for bookie in asked)
        while self.end is None:
            highest, lacking = None, 0
            for bookie in self._source.sample(self.bookies, len(self.bookies)):
                bookie.fenced = True  # a recovery's read fences as well
                if entry in bookie.entries:
                    highest = bookie.entries[entry]
                else:
                    lacking += 1
                if highest or lacking > len(self.bookies) - self._ack:
                    break
                yield
            if highest is None:
                break
            for bookie in self.bookies:
                bookie.entries.setdefault(entry, highest)
                yield
            entry += 1
        if self.end is None:
            self.end = entry
        row["position"] = self.end
        self._done(op)

    def _tail(self, client: str) -> Steps:
        lac = 0
        for f in ("open", "lac", "lac", "lac"):
            asked = self._source.sample(self.bookies, len(self.bookies) - self._ack + 1)
            op = self._begin(client, f)
            yield
            if self.end is not None:
                lac = self.end
            lac = max(lac, *(bookie.confirmed for bookie in asked)) if self.end is None else lac
            self.story.observations.append({"op": op, **(ended if self.end == lac else confirmed)(lac)})
            self._done(op)
            values = [(entry, self._read(entry)) for entry in range(lac)]
            rows = [received(L, value, entry) for entry, value in values if value is not None]
            # Reading from the first entry each time is opening it anew.
            self._done(self._begin(client, "open"))
            self._done(self._begin(client, "read", *rows))
            yield

    def _read(self, entry: int) -> int | None:
        return next((bookie.entries[entry][0] for bookie in self.bookies if entry in bookie.entries), None)

    def _begin(self, client: str, f: str, *rows: Row, outcome: str = "ok") -> int:
        self._now += 10
        return self.story.op(client, f, *rows, outcome=outcome, start=self._now, lasts=0)

    def _done(self, op: int, outcome: str | None = None) -> None:
        self._now += 10
        row = self.story.operations[op]
        row["end_ns"], row["outcome"] = self._now, outcome or row["outcome"]
        for message in self.story.messages:
            if message["op"] == op and message["direction"] == "received":
                message["received_ns"] = self._now
