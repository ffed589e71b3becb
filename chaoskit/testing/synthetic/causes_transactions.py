"""Causes in transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.testing.synthetic.transactions import ABORTED, COMMITTED, PlannedTransactions

_TRIES = 200_000


class Picker:
    """Selects transactions that no injection has used yet.

    Methods raise BadInput if none is suitable.
    """

    def __init__(self, everything: PlannedTransactions, rng: np.random.Generator, cause: str) -> None:
        self.all, self.cause = everything, cause
        self._rng = rng
        self._starts = np.searchsorted(everything.messages.txn, np.arange(everything.count + 1))

    def messages(self, txn: int) -> range:
        """Return the messages of a transaction."""
        return range(int(self._starts[txn]), int(self._starts[txn + 1]))

    def partitions(self, txn: int) -> dict[int, int]:
        """Return the partitions that a transaction wrote to, with the first message in each."""
        first_messages: dict[int, int] = {}
        for message in self.messages(txn):
            first_messages.setdefault(int(self.all.messages.partition[message]), message)
        return first_messages

    def fine(self, txn: int) -> bool:
        """Return whether a transaction committed, its client knows it, and it is not in use."""
        return bool(self.all.ended[txn] == COMMITTED) and not self.taken(txn)

    def taken(self, txn: int) -> bool:
        """Return whether its round is in use."""
        return txn // self.all.producers in self.all.edits.rounds

    def use(self, txn: int) -> None:
        """Reserve the rounds around a transaction."""
        turn = txn // self.all.producers
        self.all.edits.rounds.update((turn - 1, turn, turn + 1))

    def any(self, chosen: np.ndarray) -> Iterator[int]:
        """Yield chosen transactions in random order, up to a limit."""
        some = np.flatnonzero(chosen)
        for txn in self._rng.permutation(some)[:_TRIES].tolist():
            if not self.taken(txn):
                yield txn

    def together(self, txn: int) -> range:
        """Return the transactions of the same round that end after this one."""
        return range(txn + 1, (txn // self.all.producers + 1) * self.all.producers)

    def refuse(self) -> BadInput:
        """Return the error that an injection is not possible."""
        return BadInput(
            f"--inject {self.cause}: no suitable transaction; inject fewer, use more --transactions or --producers, "
            "or use fewer --partitions"
        )

    def expect(self, anomaly: str, message: int | None = None) -> None:
        """Add to the ground truth."""
        self.all.edits.truth.append({"anomaly": anomaly, "cause": self.cause, "message": message})

    def exchange(self, one: int, other: int) -> None:
        """Swap the positions of two messages of a partition."""
        messages = self.all.messages
        for column in (messages.position, messages.acked):
            column[[one, other]] = column[[other, one]]


def _turned(pick: Picker, ended: int, anomaly: str, *, visible: bool) -> None:
    """Show, or hide, all messages of a transaction with this outcome."""
    for txn in pick.any(pick.all.ended == ended):
        for message in pick.messages(txn):
            pick.all.messages.visible[message] = visible
            pick.expect(anomaly, message)
        return pick.use(txn)
    raise pick.refuse()


def aborted_visible(pick: Picker) -> None:
    _turned(pick, ABORTED, "aborted-read", visible=True)


def lost_transaction(pick: Picker) -> None:
    _turned(pick, COMMITTED, "lost", visible=False)


def torn(pick: Picker) -> None:
    for txn in pick.any(pick.all.ended == COMMITTED):
        places = pick.partitions(txn)
        if len(places) > 1:
            hidden = pick.messages(txn)[-1]
            pick.all.messages.visible[hidden] = False
            pick.expect("torn-transaction")
            pick.expect("lost", hidden)
            return pick.use(txn)
    raise pick.refuse()


def zombie(pick: Picker) -> None:
    fits = (pick.all.ended == COMMITTED) & (pick.all.incarnation > 1) & ~pick.all.polls
    for txn in pick.any(fits):
        before = txn - pick.all.producers
        if before >= 0 and pick.all.incarnation[before] == pick.all.incarnation[txn]:
            pick.all.edits.zombies.add(txn)
            for message in pick.messages(txn):
                pick.expect("zombie-write", message)
            return pick.use(txn)
    raise pick.refuse()


def early_visible(pick: Picker) -> None:
    for reader in pick.any(pick.all.polls):
        for writer in pick.together(reader):
            if pick.fine(writer) and (
                read := pick.partitions(writer).get(pick.all.polled(reader % pick.all.producers))
            ):
                pick.all.edits.sees[reader] = writer + 1
                pick.expect("precommitted-read", read)
                return pick.use(writer)
    raise pick.refuse()


def write_cycle(pick: Picker) -> None:
    """Let two transactions write to the same two partitions in different orders."""
    for one in pick.any(pick.all.ended == COMMITTED):
        for other in pick.together(one):
            common = sorted(set(pick.partitions(one)) & set(pick.partitions(other)))
            if (
                pick.fine(other)
                and len(common) > 1
                and _single(pick, one, common[1])
                and _single(pick, other, common[1])
            ):
                pick.exchange(pick.partitions(one)[common[1]], pick.partitions(other)[common[1]])
                pick.expect("G0")
                return pick.use(one)
    raise pick.refuse()


def read_cycle(pick: Picker) -> None:
    """Let `second` read what `first` wrote, `second` precede `third` in one partition, and `third` precede
    `first` in another."""
    for second in pick.any(pick.all.polls & (pick.all.ended == COMMITTED)):
        turn = second // pick.all.producers * pick.all.producers
        polled = pick.all.polled(second % pick.all.producers)
        for first in range(second - 1, turn - 1, -1):
            if not pick.fine(first) or polled not in pick.partitions(first) or not _latest(pick, first, second, polled):
                continue
            for third in pick.together(second):
                place = _inversion(pick, first, second, third, polled)
                if place is not None:
                    pick.exchange(pick.partitions(first)[place], pick.partitions(third)[place])
                    pick.expect("G1c")
                    return pick.use(first)
    raise pick.refuse()


def _inversion(pick: Picker, first: int, second: int, third: int, polled: int) -> int | None:
    """Return where `third` can be moved before `first`, although it follows `second` elsewhere."""
    own = pick.partitions(second)
    behind = pick.partitions(third)
    if not pick.fine(third) or not set(behind) & set(own):
        return None
    places = set(behind) & set(pick.partitions(first)) - {polled} - set(own)
    fits = (place for place in sorted(places) if _single(pick, first, place) and _single(pick, third, place))
    return next(fits, None)


def stale_read(pick: Picker) -> None:
    """Let `reader` read past what `writer` wrote without seeing it, although it wrote after it elsewhere."""
    for reader in pick.any(pick.all.polls & (pick.all.ended == COMMITTED)):
        turn = reader // pick.all.producers * pick.all.producers
        polled = pick.all.polled(reader % pick.all.producers)
        for writer in range(turn, reader):
            wrote = pick.partitions(writer)
            elsewhere = set(wrote) & set(pick.partitions(reader)) - {polled}
            if pick.fine(writer) and polled in wrote and elsewhere and not _latest(pick, writer, reader, polled):
                pick.all.edits.misses[reader] = writer
                pick.expect("G-single")
                return pick.use(reader)
    raise pick.refuse()


def _single(pick: Picker, txn: int, place: int) -> bool:
    """Return whether a transaction sent only one message there."""
    return sum(int(pick.all.messages.partition[message]) == place for message in pick.messages(txn)) == 1


def _latest(pick: Picker, writer: int, reader: int, place: int) -> bool:
    """Return whether there is nothing visible there from between the two."""
    between = range(writer + 1, reader)
    return not any(pick.all.committed[txn] and place in pick.partitions(txn) for txn in between)


@dataclass(frozen=True, slots=True)
class TransactionCause:
    """See `causes.Cause`."""

    words: str
    make: Callable[[Picker], None]
    modes: tuple[str, ...] = ("transactions",)

    def make_in(self, everything: PlannedTransactions, rng: np.random.Generator, cause: str) -> None:
        """Inject it once.

        Raises:
            BadInput: the history has no place for it.
        """
        self.make(Picker(everything, rng, cause))


TRANSACTION_CAUSES = {
    "aborted-visible": TransactionCause("an aborted transaction is visible: aborted-read", aborted_visible),
    "early-visible": TransactionCause("a transaction is read before it ends: precommitted-read", early_visible),
    "lost-transaction": TransactionCause("a committed transaction is missing: lost", lost_transaction),
    "torn-transaction": TransactionCause("part of a committed transaction is missing: torn-transaction, lost", torn),
    "zombie": TransactionCause("a fenced producer's transaction is visible: zombie-write", zombie),
    "cycle": TransactionCause("a read and two writes form a cycle: G1c", read_cycle),
    "write-cycle": TransactionCause("two transactions are in different orders in two partitions: G0", write_cycle),
    "stale-read": TransactionCause("a transaction misses a write that precedes it elsewhere: G-single", stale_read),
}
