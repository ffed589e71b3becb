"""The write-ahead log: every event of one client, safe as soon as the call returns.

Records are stored to a shared memory mapping of a file. Such a store belongs to the kernel immediately:
`kill -9` of the process loses nothing, yet an event costs no system call, which at 100,000 messages
per second would be most of the client's work. (A power failure of the machine that generates the load
loses what the kernel had not written back yet, a few seconds.)

A log is a series of segments, `<client>-<n>.wal`. Each is fully allocated before it is used, and the
next one is always allocated before an operation is invoked. So when the disk is full, an invocation
fails with `HistoryFull`, while one segment is still available to record the completions of the
operations in flight.

Not thread-safe: one client, one thread, one log.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from types import TracebackType

from chaoskit.history.format.record import (
    AUDIT,
    AUDIT_FIELDS,
    COMPLETE,
    COMPLETE_FIELDS,
    HEADER_BYTES,
    INVOKE,
    INVOKE_FIELDS,
    NO_DELIVERY,
    NO_TIME,
    OBSERVED,
    RECEIVED,
    RECEIVED_FIELDS,
    RECORD_BYTES,
    SEND,
    SEND_FIELDS,
)
from chaoskit.history.format.segment import HistoryFull, create
from chaoskit.history.recording.cursor import Cursor
from chaoskit.history.recording.names import NameLog
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import NO_POSITION

__all__ = ["NO_DELIVERY", "NO_TIME", "HistoryFull", "WalWriter"]

SEGMENT_BYTES = 16 << 20  # 230,000 events: one second of full load, and cheap enough to keep one in reserve

_pack_send = SEND_FIELDS.pack_into
_pack_invoke = INVOKE_FIELDS.pack_into
_pack_complete = COMPLETE_FIELDS.pack_into
_pack_received = RECEIVED_FIELDS.pack_into
_pack_audit = AUDIT_FIELDS.pack_into


class WalWriter(Cursor):
    """Writes the log of one client.

    Args:
        folder: the run's `wal` folder, which must exist.
        client: the client's name, unique in the run; part of the file names.
        process: its process number in the history, unique in the run.
        segment_bytes: size of a segment, including the header; at least one record, below 4 GiB.

    Raises:
        FileExistsError: this client already has a log.
        HistoryFull: there is no space to start.
    """

    __slots__ = (
        "_client",
        "_folder",
        "_ids",
        "_names",
        "_process",
        "_segment",
        "_segment_bytes",
        "_segment_index",
        "_spare",
    )

    def __init__(self, folder: Path, client: str, process: int, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._client = client
        self._process = process
        self._segment_bytes = segment_bytes
        self._names = NameLog(folder / f"{client}.names")
        self._ids = self._names.ids
        self._next_op = 0
        self._segment_index = 0
        self._offset = HEADER_BYTES
        self._end = segment_bytes - (segment_bytes - HEADER_BYTES) % RECORD_BYTES
        self._spare: mmap.mmap | None = None
        # How far invocations may advance without checking the spare segment again: initially not at all.
        self._admitted_end = 0
        try:
            self._segment = self._create(0)
            self._map(self._segment)
            self._admit()
        except HistoryFull:
            self._names.close()
            raise

    def name(self, text: str) -> int:
        """Return the id of a topic, key, error or `f`; equal texts have equal ids.

        Raises:
            HistoryFull: there is no space for a new name.
        """
        return self._ids.get(text) or self._names.add(text)

    def send(  # noqa: PLR0917 - keyword arguments would cost a tenth more for each message
        self, topic_id: int, partition: int, key_id: int, value: int, intended_ns: int, sent_ns: int, f_code: int = 0
    ) -> int:
        """Record the invocation of a `send`, or another of `operation.SENDING`, with its message; return its operation.

        Raises:
            HistoryFull: nothing was recorded, so the message must not be sent; completions can still be recorded.
        """
        offset = self._offset
        if offset >= self._admitted_end:
            offset = self._admit()
        op = self._next_op
        at = partition, topic_id, key_id, op, value, intended_ns, sent_ns, offset
        _pack_send(self._segment, offset, SEND, f_code, *at)
        self._offset = offset + RECORD_BYTES
        self._next_op = op + 1
        return op

    def invoke(self, f_id: int, start_ns: int) -> int:
        """Record the invocation of any other operation and return its number.

        Raises:
            HistoryFull: nothing was recorded, so the operation must not be executed; completions can still be
                recorded.
        """
        offset = self._offset
        if offset >= self._admitted_end:
            offset = self._admit()
        op = self._next_op
        _pack_invoke(self._segment, offset, INVOKE, f_id, op, start_ns, offset)
        self._offset = offset + RECORD_BYTES
        self._next_op = op + 1
        return op

    def complete(self, op: int, end_ns: int, outcome_code: int, error_id: int = 0, position: int = NO_POSITION) -> None:
        """Record the completion of an operation, once; `position` is the one reported by its acknowledgement.

        Raises:
            HistoryFull: the disk is full and the reserve used up.
        """
        offset = self._offset
        if offset >= self._end:
            offset = self._advance()
        _pack_complete(self._segment, offset, COMPLETE, outcome_code, error_id, op, position, end_ns, offset)
        self._offset = offset + RECORD_BYTES

    def received(  # noqa: PLR0917 - as `send`
        self,
        op: int,
        topic_id: int,
        partition: int,
        key_id: int,
        value: int,
        position: int,
        intended_ns: int,
        sent_ns: int,
        received_ns: int,
        payload_code: int,
        delivery: int = NO_DELIVERY,
    ) -> None:
        """Record a message that an invoked operation received, in the order of delivery.

        `intended_ns` and `sent_ns` are from the payload, or `NO_TIME` if it cannot be read.

        Raises:
            HistoryFull: the disk is full and the reserve used up.
        """
        offset = self._offset
        if offset >= self._end:
            offset = self._advance()
        _pack_received(
            self._segment,
            offset,
            RECEIVED,
            payload_code,
            partition,
            topic_id,
            key_id,
            op,
            value,
            position,
            intended_ns,
            sent_ns,
            received_ns,
            delivery,
            offset,
        )
        self._offset = offset + RECORD_BYTES

    def observed(  # noqa: PLR0917 - as `send`
        self, op: int, kind: int, topic_id: int, partition: int, name_id: int, value: int, position: int,
        kind_id: int = NO_DELIVERY,
    ) -> None:  # fmt: skip
        """Record an observation of an invoked operation: a row of `tables.OBSERVATIONS`.

        Args:
            op: the operation.
            kind: index into `row.KINDS`; one past the last: another kind.
            topic_id: id of the topic's name.
            partition: number of the partition.
            name_id: id of the name of the group or subscription; 0 if none.
            value: see `tables.OBSERVATIONS`; `NO_POSITION` if none.
            position: see `tables.OBSERVATIONS`; `NO_POSITION` if none.
            kind_id: id of the name of another kind.

        Raises:
            HistoryFull: the disk is full and the reserve used up.
        """
        offset = self._offset
        if offset >= self._end:
            offset = self._advance()
        place = partition, topic_id, name_id, op, value, position
        _pack_received(self._segment, offset, OBSERVED, kind, *place, NO_TIME, NO_TIME, NO_TIME, kind_id, offset)
        self._offset = offset + RECORD_BYTES

    def audit(self, topic_id: int, partition: int, audit: Audit) -> None:
        """Record the final read of a partition; a later record replaces an earlier one.

        Raises:
            HistoryFull: the disk is full and the reserve used up.
        """
        offset = self._offset
        if offset >= self._end:
            offset = self._advance()
        bounds = audit if isinstance(audit, Bounds) else Bounds(NO_POSITION, NO_POSITION, audit.complete)
        reached = NO_POSITION if bounds.reached is None else bounds.reached
        local = 0 if bounds.local is None else bounds.local + 1
        positions = bounds.low, bounds.end, reached, local
        _pack_audit(self._segment, offset, AUDIT, audit.complete, partition, topic_id, *positions, offset)
        self._offset = offset + RECORD_BYTES

    def close(self) -> None:
        """Close the log and release unused space."""
        if self._segment.closed:
            return
        self._map(None)
        self._segment.close()
        os.truncate(self._path(self._segment_index), self._offset)
        if self._spare is not None:
            self._spare.close()
            self._path(self._segment_index + 1).unlink()
        self._names.close()

    def __enter__(self) -> WalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _admit(self) -> int:
        """Ensure that a segment is in reserve; return where to record an invocation."""
        offset = self._offset if self._offset < self._end else self._advance()
        if self._spare is None:
            self._spare = self._create(self._segment_index + 1)
        self._admitted_end = self._end
        return offset

    def _advance(self) -> int:
        """Switch to the next segment; the next invocation must allocate a new reserve."""
        following = self._spare or self._create(self._segment_index + 1)
        self._map(following)
        self._segment.close()
        self._segment = following
        self._segment_index += 1
        self._spare = None
        self._admitted_end = 0
        self._offset = HEADER_BYTES
        return HEADER_BYTES

    def _create(self, index: int) -> mmap.mmap:
        return create(self._path(index), self._segment_bytes, self._process, self._client)

    def _path(self, index: int) -> Path:
        return self._folder / f"{self._client}-{index}.wal"
