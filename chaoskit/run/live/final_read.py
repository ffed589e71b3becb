"""The final read of topics whose messages others made: each is told by its content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.clients.application import ApplicationClients, ReadRecord, RecordReader
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.load.records import as_delivery, read_to_end
from chaoskit.model import payload
from chaoskit.model.message import Delivery
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import FAIL, INFO, OK
from chaoskit.model.place import Place
from chaoskit.run.live.history import LiveHistory

_PROCESS = 1
"""Process of the auditor in the history."""

_POLL_S = 0.1
_STALL_S = 30.0


class FinalRead:
    """Reads partitions from their beginning to their end, and records the messages that are known.

    A later read of the same run replaces this one.

    Args:
        wal: the run's `wal` folder.
        run_id: identifies the run in its payloads.
        namespace: what the names of topics begin with in the system.
        known: returns value and time of the send of a message, given the workload's name of its topic and its content.
    """

    def __init__(
        self, wal: Path, run_id: int, namespace: str, known: Callable[[str, bytes], tuple[int, int] | None]
    ) -> None:
        for path in [*wal.glob(f"{AUDITOR}-*.wal"), *wal.glob(f"{AUDITOR}.names")]:
            path.unlink()
        self._recorder = WalRecorder(log := WalWriter(wal, AUDITOR, _PROCESS), run_id, namespace)
        self._log = log
        self._writer = payload.Writer(run_id, payload.SIZE_MIN)
        self._known = known
        self._error = ""

    def read(self, clients: ApplicationClients, places: Sequence[Place]) -> str:
        """Read these partitions, by their names in the workload; return why that did not reach the end, if so."""
        recorder = self._recorder
        try:
            op = recorder.invoke("audit")
            try:
                why = self._read(clients, [(recorder.in_system(topic), number) for topic, number in places])
            except ChaoskitError as error:
                why = str(error)
            recorder.complete(op, INFO if why else OK, why or None)
        finally:
            self._log.close()
        return why

    def _read(self, clients: ApplicationClients, places: Sequence[Place]) -> str:
        reader = clients.records(places)
        try:
            unread = read_to_end(self._recorder, reader, places, lambda: self._poll(reader), stall_s=_STALL_S)
        finally:
            reader.close()
        return self._error or f"{unread[0][0]}/{unread[0][1]} was not read to its end" if unread else ""

    def _poll(self, reader: RecordReader) -> bool:
        """Read what is there; return whether anything was."""
        recorder = self._recorder
        op = recorder.invoke("poll")
        records, error = reader.poll(_POLL_S)
        recorder.received(op, [delivery for record in records if (delivery := self._delivery(record)) is not None])
        recorder.complete(op, OK if error is None else FAIL, error)
        self._error = error or self._error
        return bool(records)

    def _delivery(self, record: ReadRecord) -> Delivery | None:
        """Return a record as a delivery of what was sent; None: nobody said that it was."""
        known = self._known(self._recorder.in_history(record.topic), record.value)
        if known is None:
            return None
        value, sent_ns = known
        return as_delivery(record, self._writer, value, sent_ns)


def read_all(
    clients: Powered, topics: Sequence[Topic], history: LiveHistory, *, wal: Path, run_id: int, namespace: str
) -> list[str]:
    """Read all topics to their end, if messages can be told there; return why that does not show all, as sentences.

    Args:
        clients: the clients of the system.
        topics: the topics, by their names in the workload.
        history: knows what was sent.
        wal: the run's `wal` folder.
        run_id: identifies the run in its payloads.
        namespace: what the names of topics begin with in the system.
    """
    if not history.progress.sent:
        return []
    reading = optional(clients, ApplicationClients)
    if reading is None:
        return ["no final read: chaoskit cannot read what clients of others write to this system yet"]

    def known(topic: str, content: bytes) -> tuple[int, int] | None:
        message = history.message_of(topic, content)
        return None if message is None else (message.value, message.sent_ns)

    readable = [topic for topic in topics if history.readable(topic.name)]
    problems = [
        f"no final read of {topic.name}: not every message was recorded with its content, or two have the same one; "
        "give sent() the payload"
        for topic in topics
        if topic not in readable
    ]
    places = [place for topic in readable for place in topic.places]
    why = FinalRead(wal, run_id, namespace, known).read(reading, places) if places else ""
    return [*problems, *([f"final read: {why}"] if why else [])]
