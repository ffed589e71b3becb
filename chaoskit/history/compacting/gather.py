"""Collects the messages, or the observations, of each partition from the logs and turns them into rows.

Memory: 4 bytes for each record; 24 more for those of the current partition; complete records for only
one row group at a time. The records themselves stay in the mapped files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaoskit.history.compacting.dataset import ROW_GROUP_ROWS
from chaoskit.history.compacting.naming import Names, dictionary
from chaoskit.history.compacting.ranking import Ints, RankedOperations
from chaoskit.history.format.record import NO_DELIVERY, NO_TIME, OBSERVED, RECEIVED, RECORD, SEND, Records, is_named
from chaoskit.history.recording.recover import ClientLog
from chaoskit.model.message import DIRECTIONS, NO_POSITION, PAYLOADS
from chaoskit.model.observations.row import KINDS
from chaoskit.model.tables import MESSAGES, OBSERVATIONS

Rows = list[tuple[int, npt.NDArray[np.uint32]]]
"""A set of records: for each index of a segment (among those of all logs), the indices of its records."""


class _Gathered(ABC):
    """The records of some kinds from all clients, by partition.

    Attributes:
        partitions: the locations of the records of each (topic, partition).
        count: total number of records.
        orphans: number of records that are skipped because their operation was lost.
    """

    kinds: tuple[int, ...]

    def __init__(self, logs: Sequence[ClientLog], names: Names, operations: RankedOperations, origin_ns: int) -> None:
        self._names = names
        self._operations = operations
        self._origin_ns = origin_ns
        self._segments = [(client, records) for client, log in enumerate(logs) for records in log.segments]
        lengths = [len(records) for _, records in self._segments]
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.orphans = 0
        self.partitions = self._find()
        self.count: int = sum(len(rows) for pieces in self.partitions.values() for _, rows in pieces)

    def groups(self, topic: str, partition: int) -> Iterator[pa.Table]:
        """Yield the rows of a partition in `op` order, as tables of one row group each."""
        pieces = self.partitions[topic, partition]
        sources = np.concatenate([self._starts[segment] + rows for segment, rows in pieces])
        ops = np.concatenate([self._ops(segment, rows) for segment, rows in pieces])
        # Stable sort: the messages of one poll stay in delivery order.
        sources = sources[np.argsort(ops, kind="stable")]
        for start in range(0, len(sources), ROW_GROUP_ROWS):
            records = self._take(sources[start : start + ROW_GROUP_ROWS])
            yield self._table(records, topic, partition)

    def _find(self) -> dict[tuple[str, int], Rows]:
        rows_by_place: defaultdict[tuple[str, int], Rows] = defaultdict(list)
        for segment, (client, records) in enumerate(self._segments):
            rows = np.flatnonzero(np.isin(records["kind"], self.kinds))
            owned = self._ops(segment, rows) >= 0
            self.orphans += len(rows) - int(np.count_nonzero(owned))
            rows = rows[owned]
            ids = self._names.by_client[client]
            topics = ids[records["name"][rows]]
            codes = (topics << 32) + records["partition"][rows]
            order = np.argsort(codes, kind="stable")
            cuts = np.flatnonzero(np.diff(codes[order])) + 1
            for piece in np.split(rows[order].astype(np.uint32), cuts) if len(rows) else ():
                topic = self._names.texts[ids[records["name"][piece[0]]]]
                rows_by_place[topic, int(records["partition"][piece[0]])].append((segment, piece))
        return dict(sorted(rows_by_place.items()))

    def _ops(self, segment: int, rows: npt.NDArray[np.integer]) -> Ints:
        """Return the global operation of each record of one segment; -1 if the operation was torn."""
        client, records = self._segments[segment]
        ranks: Ints = self._operations.rank[self._operations.bases[client] + records["op"][rows]]
        return ranks

    def _take(self, sources: Ints) -> Records:
        """Return copies of the records in this order, with `op`, `key` and `position` as in the history."""
        taken = np.empty(len(sources), dtype=RECORD)
        order = np.argsort(sources, kind="stable")
        cuts = np.searchsorted(sources[order], self._starts)
        for segment in np.flatnonzero(np.diff(cuts)):
            client, records = self._segments[segment]
            places = order[cuts[segment] : cuts[segment + 1]]
            chosen = records[sources[places] - self._starts[segment]]
            sent = chosen["kind"] == SEND
            operation = self._operations.bases[client] + chosen["op"]
            chosen["position"][sent] = self._operations.position[operation[sent]]
            chosen["op"] = self._operations.rank[operation]
            ids = self._names.by_client[client]
            chosen["key"] = ids[chosen["key"]]
            named = is_named(chosen)
            chosen["delivery"][named] = ids[chosen["delivery"][named]]
            taken[places] = chosen
        return taken

    @abstractmethod
    def _table(self, records: Records, topic: str, partition: int) -> pa.Table:
        """Return the records of one partition as rows of the history."""

    def _place(self, rows: int, topic: str, partition: int) -> dict[str, pa.Array]:
        return {
            "topic": dictionary(np.zeros(rows, dtype=np.int32), [topic]),
            "partition": pa.array(np.full(rows, partition, dtype=np.int32)),
        }


class GatheredMessages(_Gathered):
    """Sent and received messages."""

    kinds = (SEND, RECEIVED)

    def _table(self, records: Records, topic: str, partition: int) -> pa.Table:
        sent = records["kind"] == SEND
        columns = {
            "op": pa.array(records["op"]),
            "direction": dictionary(np.where(sent, 0, 1), DIRECTIONS),
            **self._place(len(records), topic, partition),
            "key": self._names.column(records["key"]),
            "value": pa.array(records["value"]),
            "position": _known(records["position"]),
            "intended_ns": self._times(records["intended_ns"]),
            "sent_ns": self._times(records["start_ns"]),
            "received_ns": self._times(np.where(sent, NO_TIME, records["end_ns"])),
            "delivery": pa.array(records["delivery"], mask=sent | (records["delivery"] == NO_DELIVERY)),
            "payload": dictionary(np.where(sent, 0, records["code"]), PAYLOADS),
        }
        return pa.table(columns, schema=MESSAGES)

    def _times(self, absolute_ns: Ints) -> pa.Array:
        return pa.array(absolute_ns - self._origin_ns, mask=absolute_ns == NO_TIME)


class Observations(_Gathered):
    """Observations: what clients learned or did, other than messages."""

    kinds = (OBSERVED,)

    def _table(self, records: Records, topic: str, partition: int) -> pa.Table:
        columns = {
            "op": pa.array(records["op"]),
            "kind": self._kinds(records),
            **self._place(len(records), topic, partition),
            "name": self._names.column(records["key"]),
            "value": _known(records["value"]),
            "position": _known(records["position"]),
        }
        return pa.table(columns, schema=OBSERVATIONS)

    def _kinds(self, records: Records) -> pa.Array:
        code, named = records["code"].astype(np.int64), is_named(records)
        own, places = np.unique(records["delivery"][named], return_inverse=True)
        code[named] = len(KINDS) + places
        return dictionary(code, [*KINDS, *(self._names.texts[index] for index in own)])


def _known(numbers: Ints) -> pa.Array:
    return pa.array(numbers, mask=numbers == NO_POSITION)
