"""The activity of transactional producers, held in memory: about 500 bytes per transaction.

In each *round* every producer runs one transaction. Their sends overlap; then, one after the other, each
optionally polls and ends. So the order of the ends is the order of the transactions' numbers, each poll sees
everything committed before it, and nothing commits between a poll and the end of its transaction: the history
is serialisable in that order. Messages in the log have the same order; in each partition, those of one
transaction are adjacent and followed by a marker that takes a position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.testing.synthetic.layout import ORIGIN_NS, SyntheticFault, faults_of, shares
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.randomness import Flags, Ints

SENDS_MAX = 4
COMMITTED, ABORTED, UNKNOWN, CRASHED = range(4)
"""Outcomes of a transaction. CRASHED: its `end` was never invoked."""

_RESTARTS = 0.005
"""Zombies require restarts."""

_STEP_NS = 100_000
_REST_NS = 3_000_000
_SLOWER_IN_FAULT = 10
INIT, ASSIGN, BEGIN, SEND, POLL, END = 0, 1, 2, 3, 3 + SENDS_MAX, 4 + SENDS_MAX
"""Places of operations in a producer's round; `SEND` has SENDS_MAX places."""
_WORK = 5 + SENDS_MAX


@dataclass(slots=True)
class TransactionMessages:
    """Messages sent in transactions, in order of transaction and sending.

    Attributes:
        txn: number of the transaction.
        nth: number of preceding messages of the transaction.
        partition: its partition.
        value: its unique value.
        position: its position.
        visible: whether readers see it.
        acked: position reported by its acknowledgement.
    """

    txn: Ints
    nth: Ints
    partition: Ints
    value: Ints
    position: Ints
    visible: Flags
    acked: Ints


@dataclass(slots=True)
class TransactionEdits:
    """Deviations other than changes of `TransactionMessages`.

    Attributes:
        sees: for polling transactions, the transaction (exclusive) up to which they see messages instead.
        misses: for polling transactions, the transaction whose messages their poll does not return.
        zombies: transactions run by the previous incarnation.
        rounds: rounds with changes.
        truth: see `edits.Edits`.
    """

    sees: dict[int, int] = field(default_factory=dict)
    misses: dict[int, int] = field(default_factory=dict)
    zombies: set[int] = field(default_factory=set)
    rounds: set[int] = field(default_factory=set)
    truth: list[dict[str, Any]] = field(default_factory=list)


class PlannedTransactions:
    """All transactions.

    Attributes:
        count: number of transactions.
        ended: outcome of each transaction.
        committed: whether each one committed, regardless of what was reported to its client.
        polls: whether each one polls.
        incarnation: incarnation of its producer, from 1.
        messages: all sent messages.
        faults: see `Layout`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        rng = np.random.default_rng([parameters.seed, 4])
        self.producers: int = min(parameters.producers, parameters.transactions)
        self.rounds: int = parameters.transactions // self.producers
        self.count: int = self.rounds * self.producers
        errors = max(parameters.errors, _RESTARTS) if "zombie" in parameters.inject else parameters.errors
        self.ended: Ints = rng.choice(4, self.count, p=[0.95 - 5 * errors / 2, 0.05, 2 * errors, errors / 2])
        self.committed: Any = (self.ended == COMMITTED) | ((self.ended == UNKNOWN) & (rng.random(self.count) < 0.5))
        self.polls: Flags = rng.random(self.count) < 0.25
        restarts = (self.ended >= UNKNOWN).reshape(self.rounds, self.producers)
        before = np.vstack((np.zeros((1, self.producers), np.int64), np.cumsum(restarts, axis=0)[:-1]))
        self.incarnation: Ints = np.ravel(before + 1).astype(np.int64)
        self.begins: Ints = np.ones(self.count, np.bool_)
        self.begins[self.producers :] = self.ended[: -self.producers] >= UNKNOWN
        self.messages = self._messages(rng)
        self.edits = TransactionEdits()
        self.width: int = self.producers * _WORK + parameters.consumers
        self._time(rng)

    def producer(self, txn: Ints) -> Ints:
        """Return the producers of transactions."""
        return txn % self.producers

    def polled(self, producer: Ints | int) -> Any:
        """Return the partition that a producer polls."""
        return producer % self.parameters.places

    def _messages(self, rng: np.random.Generator) -> TransactionMessages:
        size = rng.integers(1, SENDS_MAX + 1, self.count)
        txn = np.repeat(np.arange(self.count), size)
        nth = np.arange(txn.size) - np.repeat(np.cumsum(size) - size, size)
        partition = np.searchsorted(np.cumsum(shares(self.parameters))[:-1], rng.random(txn.size), side="right")
        sequence = np.empty(txn.size, np.int64)
        producer = self.producer(txn)
        order = np.argsort(producer.astype(np.int32), kind="stable")
        counts = np.bincount(producer, minlength=self.producers)
        sequence[order] = np.arange(txn.size) - np.repeat(np.cumsum(counts) - counts, counts)
        position = _positions(txn, partition, self.parameters.places)
        value = (producer << PRODUCER_SHIFT) | sequence
        return TransactionMessages(txn, nth, partition, value, position, self.committed[txn], position.copy())

    def _time(self, rng: np.random.Generator) -> None:
        length_ns = self.width * _STEP_NS + _REST_NS
        self.faults: list[SyntheticFault] = faults_of(self.parameters.faults, self.rounds * length_ns, rng)
        begin_ns = ORIGIN_NS + np.arange(self.rounds) * length_ns
        slower = np.ones(self.rounds, np.int64)
        for fault in self.faults:
            # Rounds take longer during a fault, so it affects fewer rounds than its length suggests.
            covered = (fault.healed_ns - fault.start_ns) // (_SLOWER_IN_FAULT * length_ns)
            first = int(np.searchsorted(begin_ns, fault.start_ns))
            slower[first : first + max(1, covered)] = _SLOWER_IN_FAULT
        self.slower = slower
        self.round_ns: Ints = ORIGIN_NS + np.concatenate(([0], np.cumsum(slower * length_ns)))
        self.faults = _moved(self.faults, begin_ns, self.round_ns)

    def grid(self, txn: Ints, what: Ints | int) -> Ints:
        """Return the places of operations in the grid of all possible ones: by transaction, and BEGIN or similar."""
        turn, producer = txn // self.producers, self.producer(txn)
        early = np.asarray(what) * self.producers + producer
        late = POLL * self.producers + 2 * producer + (np.asarray(what) - POLL)
        return turn * self.width + np.where(np.asarray(what) < POLL, early, late)

    def consumer_grid(self, turn: Ints, consumer: Ints | int) -> Ints:
        """Return the places of the polls of consumers."""
        return turn * self.width + self.producers * _WORK + consumer

    def start_ns(self, place: Ints) -> Ints:
        """Return when the operations at these places begin."""
        turn = place // self.width
        start_ns: Ints = self.round_ns[turn] + self.slower[turn] * (place % self.width) * _STEP_NS
        return start_ns

    def step_ns(self, place: Ints) -> Ints:
        """Return the time from the start of an operation to the start of the next one."""
        return self.slower[place // self.width] * _STEP_NS

    def rest_ns(self, place: Ints) -> Ints:
        """Return the idle time at the end of an operation's round."""
        return self.slower[place // self.width] * _REST_NS


def _positions(txn: Ints, partition: Ints, places: int) -> Ints:
    """Return the position of each message: by transaction, with a marker after each transaction."""
    order = np.argsort(partition.astype(np.int32), kind="stable")
    where, whose = partition[order], txn[order]
    first = np.ones(order.size, np.bool_)
    first[1:] = where[1:] != where[:-1]
    new = first.copy()
    new[1:] |= whose[1:] != whose[:-1]
    absolute = np.arange(order.size) + np.cumsum(new)
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, order.size))
    position = np.empty(order.size, np.int64)
    position[order] = absolute - np.repeat(absolute[starts], lengths)
    return position


def _moved(faults: list[SyntheticFault], planned_ns: Ints, actual_ns: Ints) -> list[SyntheticFault]:
    """Return the faults, moved to the actual times of their rounds."""

    def moved(time_ns: int) -> int:
        turn = max(0, int(np.searchsorted(planned_ns, time_ns, side="right")) - 1)
        return int(actual_ns[turn]) + min(time_ns - int(planned_ns[turn]), int(actual_ns[turn + 1] - actual_ns[turn]))

    result = []
    for fault in faults:
        shift = moved(fault.start_ns) - fault.start_ns
        times = [time_ns + shift for time_ns in
                 (fault.start_ns, fault.effective_ns, fault.back_ns, fault.heal_ns, fault.healed_ns)]  # fmt: skip
        result.append(SyntheticFault(fault.kind, fault.target, *times))
    return result
