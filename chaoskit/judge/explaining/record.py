"""What the record of a run holds that explanations are derived from: faults, who led and stored what, sends, clients.

Times are ns since the start of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.guarantee import FOREVER, Declared, Effect
from chaoskit.contract.workloads.workload import PRODUCER
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.compacting.tiers import Tiered, read_tiers
from chaoskit.history.reading.reader import History
from chaoskit.model.audit import Bounds
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place

NEVER = np.iinfo(np.int64).min
NONE = -1

LOOK_NS = 3 * SECOND
"""Where partitions are stored is looked at each second; of a system that was silent for longer than this the run knows
it (`chaoskit.run.survey`). So a change was seen so long after it happened at most."""

CLOCKS_NS = SECOND // 10
"""A fault is recorded by another process than what it did."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RecordedSends:
    """The sends of a partition's messages, in order of value.

    Attributes:
        value: the messages, each once.
        start_ns: when the first send of each began.
        end_ns: when its last one was acknowledged, or else ended; `FOREVER` if it never did.
        acked: whether it was acknowledged.
        position: where its acknowledgement says that it is; `NONE` if that is not known.
        op: its first send.
    """

    value: Ints
    start_ns: Ints
    end_ns: Ints
    acked: Flags
    position: Ints
    op: Ints

    def rows_of(self, values: Ints) -> Ints:
        """Return the row of each value; `NONE` if it was not sent here."""
        return find_rows(self.value, values)


@dataclass(frozen=True, slots=True)
class Receipts:
    """What one client received of a partition, in order of value: each value once, and when it came first."""

    value: Ints
    at_ns: Ints

    def rows_of(self, values: Ints) -> Ints:
        """Return the row of each value; `NONE` if it was not received."""
        return find_rows(self.value, values)


@dataclass(frozen=True, slots=True)
class DigestRecord:
    """What is known of messages that were not recorded one by one.

    Attributes:
        positions: by partition and message, at the latest at which position it was.
        kept: by partition, of blocks of messages that are still there, when the last one was acknowledged, and from
            which position on they were.
    """

    positions: Mapping[Place, Mapping[int, int]]
    kept: Mapping[Place, tuple[Ints, Ints]]


class Record:
    """The record of one run.

    Args:
        declared: the resolved configuration.
        effects: the faults of the run.
        placements: where partitions were stored.
        history: the history; None if only digests of it were kept.
        hosts: names of the system's hosts, in order.
        seats: names of the hosts on which producers and consumers run in turn; empty: elsewhere.
        digest: what is known of the messages if they were not recorded one by one.

    Attributes:
        effects: the faults, in order of time, without those that began after the last thing that anybody did.
        gone: by partition, the messages that are not there any more, ascending.
    """

    def __init__(  # noqa: PLR0917 - what there is of a run
        self,
        declared: Declared,
        effects: Sequence[Effect],
        placements: Placements,
        history: History | None = None,
        hosts: Sequence[str] = (),
        seats: Sequence[str] = (),
        *,
        digest: DigestRecord | None = None,
    ) -> None:
        self.declared = declared
        over_ns = FOREVER if history is None else last_ns(history)
        done = (effect for effect in effects if effect.start_ns - CLOCKS_NS <= over_ns)
        self.effects: list[Effect] = sorted(done, key=lambda effect: effect.start_ns)
        self.placements = placements
        self.history = history
        self.digest = digest
        self.hosts: tuple[str, ...] = tuple(hosts)
        self.gone: dict[Place, Ints] = {}
        self._seats = tuple(seats)
        self._sends: dict[Place, RecordedSends] = {}
        self._receipts: dict[Place, Mapping[str, Receipts]] = {}
        self._tiers: Mapping[Place, Sequence[Tiered]] | None = None

    def seat(self, client: str) -> str:
        """Return the host on which a client runs; empty if that is none of the lab."""
        role, _, number = client.rpartition("-")
        if not self._seats or not number.isdecimal():
            return ""
        turn = int(number) + (0 if role == PRODUCER else len(self.clients(PRODUCER)))
        return self._seats[turn % len(self._seats)]

    @property
    def places(self) -> list[Place]:
        """All partitions; none if messages were not recorded one by one."""
        return (
            []
            if self.history is None
            else [(partition.topic, partition.partition) for partition in self.history.partitions]
        )

    def tiered(self, place: Place) -> Sequence[Tiered]:
        """Return up to which position a partition was in an object store, at each look, in order of time."""
        if self._tiers is None:
            self._tiers = {} if self.history is None else read_tiers(self.history.folder)
        return self._tiers.get(place, ())

    def local_start(self, place: Place) -> int | None:
        """Return from which position on the brokers had a partition themselves at the final read; None if that is not
        known."""
        audit = None if self.history is None else self.history.audit(*place)
        return audit.local if isinstance(audit, Bounds) else None

    def sends(self, place: Place) -> RecordedSends | None:
        """Return the sends of a partition; None if they were not recorded one by one."""
        if self.history is None:
            return None
        if place not in self._sends:
            self._sends[place] = _sends(self.history, place)
        return self._sends[place]

    def receipts(self, place: Place) -> Mapping[str, Receipts]:
        """Return what each client received of a partition, by name."""
        if self.history is None:
            return {}
        if place not in self._receipts:
            self._receipts[place] = _receipts(self.history, place, self._client_codes, self._client_names)
        return self._receipts[place]

    def producer_of(self, place: Place, value: int) -> str:
        """Return the producer of a message, whose values have other numbers after each restart; empty if there is no
        message."""
        if value < 0:
            return ""
        sends = self.sends(place)
        row = NONE if sends is None else int(sends.rows_of(np.array([value]))[0])
        name = "" if sends is None or row == NONE else self.client_of(int(sends.op[row]))
        return name or f"producer-{value >> PRODUCER_SHIFT}"

    def client_of(self, op: int) -> str:
        """Return the client of an operation, without the number of its incarnation; empty if it is not known."""
        if self.history is None or not 0 <= op < len(self._client_codes):
            return ""
        return self._client_names[int(self._client_codes[op])]

    def clients_of(self, ops: Ints) -> list[str]:
        """Return the client of each operation; see `client_of`."""
        return [self.client_of(op) for op in ops.tolist()]

    def clients(self, role: str) -> list[str]:
        """Return the names of the clients of a role."""
        names = self._client_names if self.history is not None else []
        return [name for name in dict.fromkeys(names) if name.startswith(role)]

    @cached_property
    def _coded(self) -> pa.DictionaryArray:
        assert self.history is not None
        column = self.history.operations["client"].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], pa.string()).dictionary_encode()
        return column

    @cached_property
    def _client_codes(self) -> npt.NDArray[np.int32]:
        codes: npt.NDArray[np.int32] = self._coded.indices.to_numpy()
        return codes

    @cached_property
    def _client_names(self) -> list[str]:
        return [name.partition("#")[0] for name in self._coded.dictionary.to_pylist()]


def find_rows(ordered: Ints, values: Ints) -> Ints:
    """Return the row of each value in a sorted array; `NONE` if it is not there."""
    if not ordered.size:
        return np.full(values.size, NONE)
    at = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return np.where(ordered[at] == values, at, NONE)


def last_ns(history: History) -> int:
    """Return when the last operation of a history began or ended, ns since the start of the run."""
    operations = history.operations
    times = [operations[name].drop_null().to_numpy() for name in ("start_ns", "end_ns")]
    return max(int(part.max(initial=0)) for part in times)


def _sends(history: History, place: Place) -> RecordedSends:
    messages, operations = history.messages(*place), history.operations
    sent = messages.filter(pc.equal(messages["direction"].cast(pa.string()), "sent"))
    op, value = sent["op"].to_numpy(), sent["value"].to_numpy()
    order = np.lexsort((op, value))
    op, value = op[order], value[order]
    end_ns = operations["end_ns"].fill_null(FOREVER).to_numpy()[op]
    acked = pc.equal(operations["outcome"].cast(pa.string()), "ok").to_numpy()[op]
    start_ns = operations["start_ns"].to_numpy()[op]
    position = sent["position"].fill_null(NONE).to_numpy()[order]
    distinct, first = np.unique(value, return_index=True)
    if not distinct.size:
        return RecordedSends(distinct, distinct, distinct, distinct.astype(np.bool_), distinct, distinct)
    # Of a message that was sent several times, the times of all its sends count.
    ended = np.maximum.reduceat(np.where(acked, end_ns, NEVER), first)
    any_acked = np.logical_or.reduceat(acked, first)
    ended = np.where(any_acked, ended, np.maximum.reduceat(end_ns, first))
    begun, position = np.minimum.reduceat(start_ns, first), np.maximum.reduceat(position, first)
    return RecordedSends(distinct, begun, ended, any_acked, position, op[first])


def _receipts(
    history: History, place: Place, codes: npt.NDArray[np.int32], names: Sequence[str]
) -> dict[str, Receipts]:
    messages = history.messages(*place)
    received = messages.filter(pc.equal(messages["direction"].cast(pa.string()), "received"))
    value, at_ns = received["value"].to_numpy(), received["received_ns"].fill_null(NEVER).to_numpy()
    by = codes[received["op"].to_numpy()]
    rows_of: dict[str, list[Ints]] = {}
    for code in np.unique(by).tolist():
        if names[code] != AUDITOR:
            rows_of.setdefault(names[code], []).append(np.flatnonzero(by == code))
    receipts = {}
    for name, parts in rows_of.items():
        rows = np.concatenate(parts)
        rows = rows[np.lexsort((at_ns[rows], value[rows]))]
        distinct, first = np.unique(value[rows], return_index=True)
        receipts[name] = Receipts(distinct, at_ns[rows][first])
    return receipts
