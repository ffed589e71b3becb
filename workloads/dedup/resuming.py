"""A producer that resends until everything is confirmed, with as many clients as necessary.

Its clients share a name, and each message keeps its sequence id, so that the system can recognise duplicates. A send
with unknown outcome stays open in the history until the producer knows more: if the system's last sequence id confirms
it, it is `ok` with the error `duplicate`; otherwise it ends as unknown, and another operation sends the same value.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from chaoskit.contract.clients.client import Completed, SequencedProducer, Unreachable
from chaoskit.contract.workloads.traits import Resend
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.restarts import Restarts
from chaoskit.model import payload
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK, Outcome
from workloads.dedup.options import DedupOptions

_FULL_S = 0.01
_AGAIN_S = 0.1
"""How long to wait after the system could not be reached."""

ENDED = "the load ended before the producer could continue"

Place = tuple[str, int]
"""Topic and partition."""


class _Message(NamedTuple):
    place: Place
    key: bytes | None
    payload: bytes
    sequence: int


class Resuming:
    """A `chaoskit.contract.clients.client.Producer` of sequenced ones.

    Args:
        job: the client's job.
        connect: creates the next client, which reports completions to its argument.
        completed: called once for each send.
        every_ns: how long a client is used; None: until the outcome of a send is unknown.
        resend: what to resend.
    """

    def __init__(
        self,
        job: Job[DedupOptions],
        connect: Callable[[Completed], SequencedProducer],
        completed: Completed,
        *,
        every_ns: int | None,
        resend: Resend,
    ) -> None:
        self._job = job
        self._connect = connect
        self._completed = completed
        self._resend = resend
        self._restarts = Restarts(every_ns)
        self._producer = connect(self._complete)
        self._unconfirmed: dict[int, _Message] = {}
        self._unknown: dict[int, str | None] = {}
        self._next: dict[Place, int] = {}

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        place = topic, partition
        if self._unknown and self._resend != "at-once":
            return self._refuse(token)
        try:
            sequence = self._next.get(place) or max(self._producer.last_sequence(*place), 0) + 1
        except Unreachable:
            time.sleep(_AGAIN_S)
            return self._refuse(token)
        message = _Message(place, key, payload, sequence)
        self._unconfirmed[token] = message
        if not self._producer.send_as(*place, key, payload, token, sequence):
            del self._unconfirmed[token]
            return False
        self._next[place] = sequence + 1
        return True

    def pending(self) -> int:
        return len(self._unconfirmed)

    def poll(self, timeout_s: float) -> None:
        restart = self._restarts.due()
        if self._resend == "at-once":
            if restart:
                self._follow()
            self._send_unknown_again()
        elif restart or self._unknown:
            self._resume()
        self._producer.poll(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._restarts.end()
        deadline = time.monotonic() + timeout_s
        while self._unconfirmed and time.monotonic() < deadline:
            self.poll(0.05)
        self._producer.close(0)
        for token in self._unconfirmed:
            self._completed(token, INFO, self._unknown.get(token), None)
        self._unconfirmed.clear()

    def _refuse(self, token: int) -> bool:
        """Accept no message now; after the end of the load, report it as never sent."""
        if self._job.control.stopping:
            self._completed(token, FAIL, ENDED, None)
            return True
        return False

    def _complete(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        if token not in self._unconfirmed:
            return
        if outcome == INFO:
            self._unknown[token] = error
            return
        del self._unconfirmed[token]
        self._completed(token, outcome, error, position, at_ns)

    def _follow(self) -> None:
        """Abandon the client and create a new one."""
        self._producer.abandon()
        self._producer = self._connect(self._complete)

    def _resume(self) -> None:
        """Continue with a new client: determine what the system has, and resend the rest in order."""
        recorder = self._job.recorder
        op = recorder.invoke("resume")
        self._follow()
        open_sends = sorted(self._unconfirmed.items(), key=lambda item: item[1].sequence)
        try:
            places = {message.place for _, message in open_sends}
            last = {place: self._producer.last_sequence(*place) for place in places}
        except Unreachable as unreachable:
            recorder.complete(op, FAIL, str(unreachable))
            time.sleep(_AGAIN_S)
            return
        recorder.complete(op)
        for token, message in open_sends:
            if self._resend == "asked" and message.sequence <= last[message.place]:
                self._unknown.pop(token, None)
                del self._unconfirmed[token]
                self._completed(token, OK, DUPLICATE, None)
            else:
                self._send_again(token, message)

    def _send_unknown_again(self) -> None:
        for token in list(self._unknown):
            self._send_again(token, self._unconfirmed[token])

    def _send_again(self, token: int, message: _Message) -> None:
        """Complete a send as unknown, and resend its message as another operation."""
        del self._unconfirmed[token]
        self._completed(token, INFO, self._unknown.pop(token, None), None)
        recorder, (topic, partition) = self._job.recorder, message.place
        _, value, intended_ns, _ = payload.read(message.payload, recorder.run_id)
        ids = recorder.topic_id(topic), partition, recorder.key_id(message.key)
        again = recorder.send(*ids, value, intended_ns, time.monotonic_ns())
        self._unconfirmed[again] = message
        while not self._producer.send_as(topic, partition, message.key, message.payload, again, message.sequence):
            self._producer.poll(_FULL_S)
