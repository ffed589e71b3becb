"""Where partitions are, as told by every broker: one that is cut off from the others tells what it last knew."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from math import inf
from typing import Any

from confluent_kafka.admin import AdminClient

from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place

_ASK_S = 2
_LATER_S = 0.5
"""A broker that has not answered this long after the first one is paused or dead: a fault that is due must not wait for
it."""


class Witnesses:
    """Asks brokers one by one.

    Args:
        connect: connects to a broker, given its address.
        addresses: the brokers' addresses.
    """

    def __init__(self, connect: Callable[[str], AdminClient], addresses: Sequence[str]) -> None:
        self._connect = connect
        self._addresses = addresses

    def states(self, topics: Sequence[str]) -> dict[Place, Any]:
        """Return the metadata of all partitions of some topics, as most brokers tell it.

        Raises:
            ServiceError: no broker answers.
        """
        pool = ThreadPoolExecutor(len(self._addresses))
        asked = [pool.submit(self._ask, address, topics) for address in self._addresses]
        pool.shutdown(wait=False)
        answers: list[Mapping[Place, Any]] = []
        for done in _completed(asked):
            answers.append(done.result())
            agreed, unsure = majority(answers, len(self._addresses))
            if not unsure:
                return agreed
        if not answers:
            raise ServiceError(f"no metadata from Kafka: {asked[0].exception()}")
        return majority(answers, len(self._addresses))[0]

    def _ask(self, address: str, topics: Sequence[str]) -> dict[Place, Any]:
        # A new client each time: only the first question goes to the address that it was given, since its answer names
        # the other brokers, and librdkafka then asks any of them.
        known = self._connect(address).list_topics(timeout=_ASK_S).topics
        return {
            (name, number): state
            for name in topics
            if name in known
            for number, state in known[name].partitions.items()
        }


def _completed(asked: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Yield what succeeded, in the order of completion; the rest is given up soon after the first one."""
    pending, deadline = set(asked), inf
    while pending:
        done, pending = wait(pending, max(0.0, min(deadline - time.monotonic(), _ASK_S)), FIRST_COMPLETED)
        good = [future for future in done if future.exception() is None]
        yield from good
        if good:
            deadline = min(deadline, time.monotonic() + _LATER_S)
        if not done and time.monotonic() >= deadline:
            return


def majority(answers: Sequence[Mapping[Place, Any]], brokers: int) -> tuple[dict[Place, Any], bool]:
    """Return the state of each partition whose leader most answers name, and whether an answer to come may change it.

    Args:
        answers: the answers.
        brokers: number of brokers.
    """
    agreed: dict[Place, Any] = {}
    unsure = False
    for place in dict.fromkeys(place for answer in answers for place in answer):
        states = [answer[place] for answer in answers if place in answer]
        ((leader, count),) = Counter(state.leader for state in states).most_common(1)
        agreed[place] = next(state for state in states if state.leader == leader)
        unsure |= 2 * count <= brokers
    return agreed, unsure or (not agreed and 2 * len(answers) <= brokers)
