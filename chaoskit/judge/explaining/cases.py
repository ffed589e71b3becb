"""The findings of one anomaly, as columns: which message, on whose way, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.guarantees.guarantee import FOREVER
from chaoskit.judge.explaining.record import NEVER, NONE, Flags, Ints
from chaoskit.model.place import Place


@dataclass(frozen=True, slots=True)
class ConcernedMessage:
    """The message of each finding. Times are ns since the start of the run.

    Attributes:
        value: the message; `NONE` if there is none.
        written_ns: when its first send began; `NEVER` if that is not known.
        acked_ns: when it was acknowledged; `FOREVER` if it was not.
    """

    value: Ints
    written_ns: Ints
    acked_ns: Ints

    @property
    def known(self) -> Flags:
        """Whether it is known when it was written."""
        known: Flags = self.written_ns != NEVER
        return known

    @property
    def unanswered(self) -> Flags:
        """Whether it was written, and never acknowledged."""
        unanswered: Flags = self.known & (self.acked_ns == FOREVER)
        return unanswered

    @property
    def stored_ns(self) -> Ints:
        """When it was acknowledged; when it was written if it never was, of one that somebody saw."""
        return np.where(self.unanswered, self.written_ns, self.acked_ns)


@dataclass(frozen=True, slots=True)
class Cases:
    """Findings of one anomaly.

    Attributes:
        anomaly: the anomaly.
        places: their partitions.
        place_of: for each finding the index of its partition.
        messages: its message; of a pair both.
        other: the message that contradicts it; of a pair one of the two.
        position, other_position: the positions of the evidence; `NONE` if there is none.
        op, other_op: the operations of its evidence; `NONE` if there is none.
        also: for each finding further operations like `other_op`; None if there are none.
        at_ns: when it was experienced, or its message acknowledged.
        since_ns: when what was violated had come to hold; `NEVER` if that is not known.
    """

    anomaly: Anomaly
    places: Sequence[Place]
    place_of: Ints
    messages: tuple[ConcernedMessage, ...]
    other: ConcernedMessage
    position: Ints
    other_position: Ints
    op: Ints
    other_op: Ints
    also: pa.ListArray | None
    at_ns: Ints
    since_ns: Ints

    @classmethod
    def of(cls, anomaly: Anomaly, rows: pa.Table) -> Cases:
        """Return rows of schema `FINDINGS` as cases."""
        places, place_of = places_of(rows)
        at_ns = rows["at_ns"].fill_null(NEVER).to_numpy()
        messages, other = [_message(rows, "")], _message(rows, "other_")
        if anomaly.about is About.PAIR:
            messages.append(other)
        elif not messages[0].known.all() and anomaly.about is About.MESSAGE:
            # A message of a damaged or strange payload: what is known is when it was seen.
            known = messages[0].known
            messages[0] = ConcernedMessage(
                messages[0].value,
                np.where(known, messages[0].written_ns, at_ns),
                np.where(known, messages[0].acked_ns, at_ns),
            )
        also = rows["other_ops"].combine_chunks() if "other_ops" in rows.column_names else None
        return cls(
            anomaly,
            places,
            place_of,
            tuple(messages),
            other,
            rows["position"].fill_null(NONE).to_numpy(),
            rows["other_position"].fill_null(NONE).to_numpy(),
            rows["op"].fill_null(NONE).to_numpy(),
            rows["other_op"].fill_null(NONE).to_numpy(),
            also if also is not None and also.null_count < len(also) else None,
            at_ns,
            rows["since_ns"].fill_null(NEVER).to_numpy(),
        )

    @property
    def size(self) -> int:
        """Number of findings."""
        return int(self.place_of.size)

    @property
    def message(self) -> ConcernedMessage:
        """The message that each finding is about."""
        return self.messages[0]

    def stored_ns(self, message: ConcernedMessage) -> Ints:
        """Return when each message was stored at the latest: when it was acknowledged, or seen before that. Both of a
        pair were seen."""
        if self.anomaly.about is About.PAIR:
            return message.stored_ns
        seen = (self.anomaly.about is About.MESSAGE) & (self.at_ns != NEVER) & (self.at_ns >= message.written_ns)
        return np.where(seen, np.minimum(self.at_ns, message.acked_ns), message.acked_ns)

    @property
    def reading(self) -> bool:
        """Whether they are about what a client experienced."""
        return self.anomaly.about is About.READING

    def by_place(self, rows: Ints | None = None) -> Iterator[tuple[Place, Ints]]:
        """Yield each partition of some findings, and which of them are of it.

        Args:
            rows: the findings; None: all.
        """
        rows = np.arange(self.size) if rows is None else rows
        for index in np.unique(self.place_of[rows]).tolist():
            yield self.places[index], rows[self.place_of[rows] == index]


def places_of(rows: pa.Table) -> tuple[list[Place], Ints]:
    """Return the partitions of findings, and for each the index of its partition."""
    topics = rows["topic"].cast(pa.string()).combine_chunks().dictionary_encode()
    codes = topics.indices.to_numpy().astype(np.int64) << 32 | rows["partition"].to_numpy()
    distinct, index = np.unique(codes, return_inverse=True)
    names = topics.dictionary.to_pylist()
    return [(names[code >> 32], int(code & 0xFFFFFFFF)) for code in distinct.tolist()], index


def _message(rows: pa.Table, prefix: str) -> ConcernedMessage:
    written = rows[f"{prefix}written_ns"]
    return ConcernedMessage(
        rows[f"{prefix}value"].fill_null(NONE).to_numpy(),
        written.fill_null(NEVER).to_numpy(),
        pc.coalesce(rows[f"{prefix}acked_ns"], pa.scalar(FOREVER, pa.int64())).to_numpy(),
    )
