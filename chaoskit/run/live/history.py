"""Records what clients of others sent and received."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import NO_TIME, WalWriter
from chaoskit.model import payload as payloads
from chaoskit.model.message import NO_POSITION
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from chaoskit.model.progress import Progress
from chaoskit.run.live.lanes import Lanes

CLIENT = "test"
"""Name of the clients of others in the history."""

Id = int | str


class Sending:
    """A send of somebody's client, until its outcome is known.

    Args:
        history: records it.
        send: what is known of it.
    """

    def __init__(self, history: LiveHistory, send: Send) -> None:
        self._history = history
        self._send = send

    def ok(self, *, partition: int | None = None, position: int | None = None) -> None:
        """It was acknowledged.

        Args:
            partition: where the message is, if that was not known before.
            position: its position there, such as its offset, if the client tells it.
        """
        self._history.complete(self._send, OK, None, partition, position)

    def failed(self, error: object) -> None:
        """It failed: the error proves that the message was not stored."""
        self._history.complete(self._send, FAIL, str(error))

    def unknown(self, error: object) -> None:
        """It failed, and the message may have been stored all the same, as after a timeout."""
        self._history.complete(self._send, INFO, str(error))

    def __enter__(self) -> Sending:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """At the end of a block the send was acknowledged; if it raised, nobody knows."""
        if not self._send.over:
            if error is None:
                self.ok()
            else:
                self.unknown(repr(error))


@dataclass
class Send:
    """What is known of a send.

    Attributes:
        message: its message.
        lane: see `chaoskit.run.live.lanes`.
        at_ns: when it began, CLOCK_MONOTONIC.
        key: key of the message.
        op: its operation; None until its partition is known, and it is recorded.
        over: whether its outcome is known.
    """

    message: Message
    lane: int
    at_ns: int
    key: bytes | None
    op: int | None = None
    over: bool = False


@dataclass
class Message:
    """What is known of a message.

    Attributes:
        topic: its topic, by the workload's name.
        id: how others name it.
        value: its value in the history.
        partition: its partition; None as long as nobody has said it.
        sent_ns: when it was sent for the first time; `NO_TIME` if it was not.
        waiting: sends that are recorded once its partition is known.
        received_ns: when it was received, of what is recorded once its partition is known.
    """

    topic: str
    id: Id
    value: int
    partition: int | None
    sent_ns: int = NO_TIME
    waiting: list[Send] = field(default_factory=list)
    received_ns: list[int] = field(default_factory=list)


class LiveHistory:
    """The history of clients that others run: what they say of it. Threads may share it.

    Args:
        folder: the run folder.
        run_id: identifies the run in its payloads.
        topic: returns a topic, by its name in the workload or in the system; raises BadInput if there is none.
        where: who to name in errors.
    """

    def __init__(self, folder: Path, run_id: int, topic: Callable[[str], Topic], where: str) -> None:
        self._wal = WalWriter(folder / "wal", CLIENT, 0)
        self._recorder = WalRecorder(self._wal, run_id)
        self._ids = (folder / store.IDS).open("a", encoding="utf-8", buffering=1)
        self._topic = topic
        self._where = where
        self._lock = threading.Lock()
        self._lanes = Lanes()
        self._messages: dict[tuple[str, Id], Message] = {}
        self._by_payload: dict[tuple[str, bytes], Message] = {}
        self._unreadable: set[str] = set()
        self._closed = False

    @property
    def progress(self) -> Progress:
        """How many messages were sent, acknowledged and received so far."""
        return self._recorder.progress

    def sent(
        self,
        topic: str,
        id: Id,  # noqa: A002  # as users say it
        *,
        partition: int | None = None,
        key: bytes | None = None,
        payload: bytes | None = None,
    ) -> Sending:
        """Record that a message is about to be sent; call this before the client is.

        Args:
            topic: the topic.
            id: what tells the message from all others of the topic; the same one if it is sent again.
            partition: its partition, if that is known; otherwise the acknowledgement must tell it, unless the topic has
                one only.
            key: its key: the order of messages with a key is judged key by key.
            payload: its content, by which `judge` finds it again when it reads the topic.

        Raises:
            BadInput: there is no such topic or partition.
            HistoryFull: nothing was recorded, so the message must not be sent.
        """
        name, number = self._place("sent", topic, partition)
        with self._lock:
            lane = self._lanes.take()
            message = self._messages.get((name, id))
            if message is None:
                message = self._new(name, id, self._lanes.value(lane), number)
            self._identify(message, payload)
            send = Send(message, lane, time.monotonic_ns(), key)
            if message.sent_ns == NO_TIME:
                message.sent_ns = send.at_ns
            message.partition = number if message.partition is None else message.partition
            message.waiting.append(send)
            if message.partition is not None:
                self._flush(message)
        return Sending(self, send)

    def received(self, topic: str, id: Id, *, partition: int | None = None) -> None:  # noqa: A002  # as above
        """Record that somebody received a message of a topic.

        Args:
            topic: the topic.
            id: what it was sent with.
            partition: its partition, if that is known.

        Raises:
            BadInput: there is no such topic or partition.
            HistoryFull: the disk is full.
        """
        name, number = self._place("received", topic, partition)
        with self._lock:
            message = self._messages.get((name, id))
            if message is None:
                message = self._new(name, id, self._lanes.value(), number or 0)
            message.received_ns.append(time.monotonic_ns())
            message.partition = number if message.partition is None else message.partition
            if message.partition is not None:
                self._flush(message)

    def complete(
        self, send: Send, outcome: Outcome, error: str | None, partition: int | None = None, position: int | None = None
    ) -> None:
        """Record the outcome of a send, once; see `Sending`."""
        with self._lock:
            if self._closed:
                return  # a client library reports what was left when it was over
            _, number = self._place("sent", send.message.topic, partition)
            if send.over:
                raise BadInput(f"{self._where}.history: the outcome of this send was recorded before; record it once")
            message = send.message
            if message.partition is None:
                if number is None and outcome == OK:
                    raise BadInput(
                        f"{self._where}.history: topic {message.topic!r} has several partitions; say which one the "
                        "message is in: sent(..., partition=...) or ok(partition=...)"
                    )
                message.partition = number or 0
            self._flush(message)
            assert send.op is not None
            send.over = True
            self._recorder.completed(send.op, outcome, error, position)
            if outcome != INFO:
                self._lanes.release(send.lane)

    def message_of(self, topic: str, payload: bytes) -> Message | None:
        """Return the message with this content; None if no such one was sent."""
        with self._lock:
            return self._by_payload.get((topic, _digest(payload)))

    def readable(self, topic: str) -> bool:
        """Return whether each message that was sent to a topic can be told by its content."""
        return topic not in self._unreadable

    def flush(self) -> None:
        """Record what waited for a partition: who never said it sent it to the first one."""
        with self._lock:
            for message in self._messages.values():
                if message.partition is None:
                    message.partition = 0
                self._flush(message)

    def close(self) -> None:
        """Record what is left, and end; later calls do nothing."""
        if self._closed:
            return
        self.flush()
        with self._lock:
            self._closed = True
            self._wal.close()
            self._ids.close()

    def _place(self, call: str, topic: str, partition: int | None) -> tuple[str, int | None]:
        """Return the workload's name of a topic, and the partition, if it is known."""
        if self._closed:
            raise BadInput(f"{self._where}.history.{call}: the cluster is down; record this inside its block")
        declared = self._topic(topic)
        count = declared.partitions or 1
        if partition is not None and not 0 <= partition < count:
            raise BadInput(
                f"{self._where}.history.{call}: partition: {declared.name!r} has no partition {partition}; it has "
                f"{count}, beginning with 0"
            )
        return declared.name, 0 if partition is None and count == 1 else partition

    def _new(self, topic: str, id_: Id, value: int, partition: int | None) -> Message:
        message = self._messages[topic, id_] = Message(topic, id_, value, partition)
        self._ids.write(f"{json.dumps({'value': value, 'topic': topic, 'id': id_})}\n")
        return message

    def _identify(self, message: Message, payload: bytes | None) -> None:
        content = None if payload is None else (message.topic, _digest(payload))
        if content is None or self._by_payload.setdefault(content, message) is not message:
            self._unreadable.add(message.topic)

    def _flush(self, message: Message) -> None:
        """Record the sends and receives of a message whose partition is known."""
        recorder, topic = self._recorder, self._recorder.topic_id(message.topic)
        assert message.partition is not None
        for send in message.waiting:
            key = recorder.key_id(send.key)
            send.op = recorder.send(topic, message.partition, key, message.value, send.at_ns, send.at_ns)
        message.waiting.clear()
        for at_ns in message.received_ns:
            op = recorder.invoke("receive", at_ns)
            times = message.sent_ns, message.sent_ns, at_ns
            self._wal.received(op, topic, message.partition, 0, message.value, NO_POSITION, *times, payloads.OK)
            recorder.complete(op, OK, None, at_ns)
            recorder.progress.received += 1
        message.received_ns.clear()


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()
