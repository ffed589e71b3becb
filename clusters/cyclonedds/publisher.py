"""The publisher: a writer for each topic.

A write is over once the writer has taken the sample over. With `acks: readers` a send is acknowledged once every
reliable reader that is matched has acknowledged it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from cyclonedds.core import DDSException
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.common.matching import settle
from clusters.cyclonedds.matching import known
from clusters.cyclonedds.message import CycloneMessage
from clusters.cyclonedds.participant import participant, qos_of
from clusters.cyclonedds.settings import WriterSettings

_UNACKED_MAX = 10_000


class CyclonePublisher:
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        connection: what clients are told.
        name: the client's name, which its writers carry as their user data.
        settings: the quality of service.
        topics: the topics that it publishes to.
        completed: called once per send.
    """

    def __init__(
        self,
        connection: Mapping[str, Any],
        name: str,
        settings: WriterSettings,
        topics: Sequence[str],
        completed: Completed,
    ) -> None:
        domain, qos = participant(connection), qos_of(settings, name)
        self._acks = settings.acks == "readers"
        self._completed = completed
        self._unacked: deque[int] = deque()
        self._writers = {topic: DataWriter(domain, Topic(domain, topic, CycloneMessage), qos=qos) for topic in topics}
        settle(lambda: sum(len(known(writer.get_matched_subscriptions)) for writer in self._writers.values()))

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        if len(self._unacked) >= _UNACKED_MAX:
            return False
        try:
            self._writers[topic].write(CycloneMessage(payload))
        except DDSException as error:
            self._completed(token, INFO, _name(error), None)
            return True
        if self._acks:
            self._unacked.append(token)
        else:
            self._completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return len(self._unacked)

    def poll(self, timeout_s: float) -> None:
        if not self._unacked:
            time.sleep(timeout_s)
        elif self._acknowledged(timeout_s):
            self._settle(OK, None)

    def close(self, timeout_s: float) -> None:
        if self._acknowledged(timeout_s):
            self._settle(OK, None)
        else:
            self._settle(INFO, "a reader has not acknowledged it")
        self._writers.clear()

    def _settle(self, outcome: Outcome, error: str | None) -> None:
        while self._unacked:
            self._completed(self._unacked.popleft(), outcome, error, None)

    def _acknowledged(self, timeout_s: float) -> bool:
        """Return whether the matched readers acknowledge everything in time."""
        deadline = time.monotonic() + timeout_s
        try:
            return all(
                writer.wait_for_acks(round(max(0.0, deadline - time.monotonic()) * SECOND))
                for writer in self._writers.values()
            )
        except AttributeError:  # release 11.0.1 looks for the code of a time-out in Python's own Exception
            return False


def _name(error: DDSException) -> str:
    return str(DDSException.error_message_mapping.get(error.code, (f"code {error.code}",))[0])
