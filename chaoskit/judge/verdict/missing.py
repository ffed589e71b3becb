"""What of a run's record is missing, so that nobody knows what was done, sent or stored: an error or a doubt.

A missing part never makes a verdict kinder. What only a crash can leave (a torn last line, a run that ended before its
load) is a doubt; what no crash leaves is an error that names the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.base.reading import RESTORE
from chaoskit.history.compacting.faults import torn_faults
from chaoskit.history.compacting.placements import recorded_placements
from chaoskit.history.reading.reader import History
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.timing.counts import total


def doubts_of_record(folder: Path, subject: Subject, history: History) -> tuple[str, ...]:
    """Return what is in doubt because a part of the record is missing, as sentences.

    An imported history has only what it was written with.
    """
    return () if subject.imported else tuple(_doubts(folder, history))


def _doubts(folder: Path, history: History) -> Iterator[str]:
    if torn := torn_faults(folder):
        yield torn
    if history.recorded_faults and (unknown := recorded_placements(folder)):
        # Without faults there is nothing that would have to be explained by where data was stored.
        yield unknown


def require_messages(history: History, counts: pa.Table) -> None:
    """Check that the message of each send was recorded, of a run that chaoskit recorded itself.

    Args:
        history: the history of the run.
        counts: COUNTS of the run.

    Raises:
        BadInput: there are sends without a message.
    """
    sends, stored = total(counts, "outcome"), total(counts, "stored")
    if stored < sends:
        raise BadInput(
            f"{history.folder / 'messages.parquet'} has the messages of {stored:,} of {sends:,} sends. {RESTORE}"
        )
