"""The life of one simulated queue: who sends, receives and settles what, tick by tick."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from chaoskit.contract.workloads.topic import DEAD
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.testing.synthetic.layout import ORIGIN_NS
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.queue_broker import MS, TICK_NS, Broker, QueuedMessage
from chaoskit.testing.synthetic.queue_causes import PREFETCH, QUEUE_CAUSES, SETTINGS
from chaoskit.testing.synthetic.queue_rows import QueueRows
from chaoskit.testing.synthetic.sends import FAIL, INFO, OK

TOPIC = "queue"
_NUMBER_SHIFT = 24
"""Each queue has its own range of each producer's sequence numbers."""

_VICTIM = 0.55
_WISHES, _SHARES = ("ack", "nack", "reject", "leave"), (0.95, 0.03, 0.015, 0.005)
_FORCED = {
    "unmarked-return": "nack",
    "forgotten-delivery": "leave",
    "no-dead-letter": "reject",
    "two-dead-letters": "reject",
    "other-reason": "reject",
}
"""What the first consumer does with the message to which a cause happens."""

_PAUSE_EVERY, _PAUSE = 160, 70
"""Consumers of queues that expire or drop messages pause for so many ticks of so many, and at the end."""


class Stage(Protocol):
    """The history that a queue is part of; see `chaoskit.testing.synthetic.queues.QueueSimulation`."""

    parameters: Parameters
    clients: list[str]
    crashes: list[tuple[int, int]]
    span_ns: int
    end_ns: int
    audit_ns: int
    declare_op: int
    audit_op: int

    def operate(self, f: str, client: int, start_ns: int, lasts_ns: int, outcome: int = OK) -> int:
        """Add an operation; return its number before sorting."""
        ...

    def consumer(self, number: int) -> int:
        """Return the client of a consumer."""
        ...


class QueueRun:
    """One queue.

    Attributes:
        rows: what is recorded of it, and of its dead letters.
        truth: what must be found.
    """

    def __init__(self, run: Stage, number: int, size: int, kind: str, cause: str | None) -> None:
        self._run, self._size, self._kind, self._cause = run, size, kind, cause
        self._rng = np.random.default_rng([run.parameters.seed, 8, number])
        self._broker = Broker(kind, cause)
        self._own = QueueRows((f"{TOPIC}-{number}", 0))
        self._dead = QueueRows((f"{TOPIC}-{number}{DEAD}", 0))
        self._offset = number << _NUMBER_SHIFT
        self._active = list(range(run.parameters.consumers))
        self.rows = [self._own, self._dead] if "dead-letters" in SETTINGS[kind] else [self._own]
        self.truth: list[dict[str, Any]] = []

    def play(self) -> None:
        """Let everything happen."""
        self._declare()
        due = self._send()
        crashes = list(self._run.crashes)
        at = 0
        for now_ns in range(ORIGIN_NS + TICK_NS, self._run.end_ns + TICK_NS, TICK_NS):
            while at < len(due) and due[at].sent_ns < now_ns:
                self._broker.publish(due[at])
                at += 1
            while crashes and crashes[0][1] <= now_ns:
                self._crash(crashes.pop(0)[0], now_ns)
            self._tick(now_ns)
        self._finish()

    def _declare(self) -> None:
        settings = {**SETTINGS[self._kind], "prefetch": PREFETCH}
        for name, number in settings.items():
            self._own.told(self._run.declare_op, "declared", name=name, position=number)
        self._dead.told(self._run.declare_op, "declared", name="dead-letters-of", position=1)

    def _send(self) -> list[QueuedMessage]:
        """Send everything; return what reaches the queue."""
        producers, errors, size = self._run.parameters.producers, self._run.parameters.errors, self._size
        step_ns = self._run.span_ns // max(size, 1)
        outcomes = self._rng.choice([OK, FAIL, INFO], size, p=[1 - errors, errors / 2, errors / 2]).tolist()
        info_kept = (self._rng.random(size) < 0.5).tolist()
        wishes = self._rng.choice(_WISHES, size, p=_SHARES).tolist()
        priorities = self._rng.integers(3, size=size).tolist() if self._kind == "priorities" else [0] * size
        victim, due = int(size * _VICTIM) if self._cause else -1, []
        for number in range(size):
            value = (number % producers << PRODUCER_SHIFT) + self._offset + number // producers
            outcome = outcomes[number] if self._kind != "nowhere" else FAIL
            wish = "reject" if self._cause == "unasked-rejection" and number == 1 else wishes[number]
            if number == victim:
                outcome, wish = OK, _FORCED.get(str(self._cause), "ack")
                priorities[number] = 2 if self._cause == "low-first" else priorities[number]
                self._expect(value)
            start_ns = ORIGIN_NS + number * step_ns
            op = self._run.operate("send", number % producers, start_ns, min(step_ns, MS) // 2, outcome)
            self._own.sent(op, value, start_ns)
            if self._kind == "priorities":
                self._own.told(op, "prioritised", value=value, position=priorities[number])
            if outcome == OK or (outcome == INFO and info_kept[number]):
                due.append(QueuedMessage(number, value, start_ns, priorities[number], wish, number == victim))
        return due

    def _tick(self, now_ns: int) -> None:
        """Deliver and settle; everything that was sent before this tick has arrived."""
        broker = self._broker
        broker.keeps_all = self._cause == "no-drop" and now_ns > self._run.end_ns - _PAUSE * TICK_NS
        broker.advance(now_ns)
        tick = now_ns // TICK_NS
        pausing = self._kind in {"expiring", "bounded"}
        if not pausing or (tick % _PAUSE_EVERY >= _PAUSE and now_ns < self._run.end_ns - _PAUSE * TICK_NS):
            for consumer in self._receiving(tick, now_ns):
                self._receive(consumer, now_ns)
        self._bury(self._run.consumer(self._run.parameters.consumers), now_ns + 20 * MS)

    def _receiving(self, tick: int, now_ns: int) -> list[int]:
        """Return the consumers that get messages now."""
        if self._kind != "single":
            return list(range(self._run.parameters.consumers))
        middle_ns = ORIGIN_NS + self._run.span_ns // 2
        shared = self._cause == "second-active" and middle_ns < now_ns < middle_ns + self._run.span_ns // 4
        return [self._active[tick // 8 % 2 if shared else 0]]

    def _receive(self, consumer: int, now_ns: int) -> None:
        """Give a consumer what it may have, and let it settle."""
        broker, client = self._broker, self._run.consumer(consumer)
        taken = list(broker.deliver(consumer))
        if not taken:
            return
        op = self._run.operate("receive", client, now_ns + 3 * MS, MS)
        settled: dict[str, list[QueuedMessage]] = {"nack": [], "reject": [], "ack": []}
        for message, delivery_count in taken:
            self._own.received(op, message.value, message.sent_ns, now_ns + 4 * MS, delivery_count)
            wish = broker.wish_of(consumer, message)
            if wish in settled:
                settled[wish].append(message)
        for place, (how, messages) in enumerate(settled.items()):
            if messages:
                start_ns = now_ns + (5 + 2 * place) * MS
                self._settle(consumer, how, messages, start_ns)

    def _settle(self, consumer: int, how: str, messages: list[QueuedMessage], start_ns: int) -> None:
        op = self._run.operate(how, self._run.consumer(consumer), start_ns, MS)
        kind = {"nack": "nacked", "reject": "rejected", "ack": "acked"}[how]
        for message in messages:
            self._own.told(op, kind, value=message.value)
            self._broker.settle(consumer, message, how, start_ns)

    def _bury(self, client: int, now_ns: int) -> None:
        """Let a client receive the dead letters, and acknowledge them."""
        dead, self._broker.dead = self._broker.dead, []
        if not dead or self._own is self.rows[-1]:
            return
        dead += [letter for letter in dead if self._broker.struck(letter[0], "two-dead-letters")]
        op = self._run.operate("receive", client, now_ns, MS)
        for message, reason in dead:
            self._dead.received(op, message.value, message.sent_ns, now_ns + MS, 0)
            self._own.told(op, "dead-lettered", name=reason, value=message.value, position=1)
        ack = self._run.operate("ack", client, now_ns + 2 * MS, MS)
        for message, _ in dead:
            self._dead.told(ack, "acked", value=message.value)

    def _crash(self, consumer: int, now_ns: int) -> None:
        self._broker.end(consumer, now_ns)
        self._active.append(self._active.pop(self._active.index(consumer)))

    def _finish(self) -> None:
        """Close all consumers, and drain."""
        run, broker, auditor = self._run, self._broker, len(self._run.clients) - 1
        for consumer in range(run.parameters.consumers):
            broker.end(consumer, run.end_ns)
        now_ns = run.audit_ns
        broker.advance(now_ns)
        depth = len(broker.ready) + (self._cause == "wrong-depth")
        self._own.told(run.audit_op, "depth", position=depth)
        self._bury(auditor, now_ns + 2 * MS)
        taken = list(broker.deliver(auditor, self._size))
        for first in range(0, len(taken), run.parameters.batch):
            now_ns += 10 * MS
            op = run.operate("receive", auditor, now_ns, MS)
            for message, delivery_count in taken[first : first + run.parameters.batch]:
                self._own.received(op, message.value, message.sent_ns, now_ns + MS, delivery_count)
            ack = run.operate("ack", auditor, now_ns + 2 * MS, MS)
            for message, _ in taken[first : first + run.parameters.batch]:
                self._own.told(ack, "acked", value=message.value)

    def _expect(self, value: int) -> None:
        cause = QUEUE_CAUSES[str(self._cause)]
        place = self._dead.place if cause.anomaly == "dead-letter-twice" else self._own.place
        self.truth.append(
            {
                "anomaly": cause.anomaly,
                "topic": place[0],
                "partition": place[1],
                "value": value if cause.named else None,
                "cause": self._cause,
            }
        )
