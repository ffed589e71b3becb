"""What it costs to record the membership: sends a second, p99, and processor time.

A running cluster of three brokers, with a topic of three partitions, is asked for its membership up to 20 times in one
of each two seconds, drawn at random: so what drifts, and what comes back regularly, hits both alike. It is the question
that `chaoskit.run.survey` asks once a second: asked so often, what it costs is larger than the noise, or smaller than a
20th of it. Kafka: 100-byte messages, acks=all, at the maximum rate, and at 2,000/s, from the call to the
acknowledgement, in six times as many pairs. Processor time: what the machine uses while nothing is sent, in cores.

Prints one JSON line a system: seconds without a question, seconds with one (of what 20 of them add, a 20th), and the
difference or the ratio, with its 95 % interval (bootstrap over the pairs). The p99 with one is that of the sends of
both kinds of seconds, mixed so that a 20th is of those with 20.

    sudo .venv/bin/python -m benchmarks.membership [PAIRS] [SYSTEM]...
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import psutil

from benchmarks.latency import acknowledged
from benchmarks.recording import TOPIC, in_process, running
from chaoskit.contract.systems.service import Placing, Service
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from clusters.kafka.settings import KafkaOptions
from clusters.pulsar.settings import PulsarOptions
from clusters.rabbitmq.settings import RabbitOptions
from workloads.log.options import LogOptions

Floats = npt.NDArray[np.float64]

_WARM_UP_S = 8.0
_SECOND_S = 1.0
_QUESTIONS = 20
_RESAMPLES = 2_000
_RATE = 2_000
_MORE_PAIRS = 6
"""The tail of a second varies more than its sends."""

_P99 = 0.99
_EDGES_MS: Floats = np.geomspace(0.01, 10_000, 20_001)
"""Latencies are counted in steps of 0.07 %."""

_SYSTEMS = {
    "kafka": KafkaOptions(topic={"min.insync.replicas": 2}),
    "rabbitmq": RabbitOptions(),
    "pulsar": PulsarOptions(),
}


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds, by pair, and without and with the questions.

    Attributes:
        at_s: when each began and ended, CLOCK_MONOTONIC.
        used_s: how many seconds of processor time the machine used meanwhile.
        questions: how many there were in one of the latter.
    """

    at_s: Floats
    used_s: Floats
    questions: float

    @property
    def lasted_s(self) -> Floats:
        """How long each was; longer than a second if the last question took long."""
        return self.at_s[:, :, 1] - self.at_s[:, :, 0]


def seconds(cluster: Service, pairs: int) -> Seconds:
    """Ask, or not, and return what was seen."""
    placing, random = cluster.power(Placing), np.random.default_rng(1)
    at_s, used_s, asked = np.empty((pairs, 2, 2)), np.empty((pairs, 2)), 0
    for pair in range(pairs):
        for asks in random.permutation(2):
            began_s, before_s = time.monotonic(), busy()
            for number in range(1, _QUESTIONS + 1):
                if asks and time.monotonic() < began_s + _SECOND_S:
                    placing.placements()
                    asked += 1
                time.sleep(max(0.0, began_s + number * _SECOND_S / _QUESTIONS - time.monotonic()))
            at_s[pair, asks], used_s[pair, asks] = (began_s, time.monotonic()), busy() - before_s
    return Seconds(at_s, used_s, asked / pairs)


def busy() -> float:
    """Return how many seconds of processor time the machine has used."""
    used = psutil.cpu_times()
    return float(sum(getattr(used, name) for name in ("user", "nice", "system", "irq", "softirq")))


def sent(connection: dict[str, Any], rate: int | Literal["max"], for_s: float) -> Floats:
    """Return when each send was acknowledged (CLOCK_MONOTONIC, s), and how long after its call (ms)."""
    options = LogOptions(rate=rate, message_size=100, producer={"acks": "all"})
    sends, done = acknowledged(connection, options, for_s)
    acked = done > 0
    return np.stack([done[acked] / 1e9, (done[acked] - sends["start_ns"][acked]) / 1e6])


def loaded(cluster: Service, rate: int | Literal["max"], pairs: int) -> tuple[Seconds, Floats]:
    """Return the seconds of a load, and how many sends took how long in each: by step of `_EDGES_MS`."""
    with ThreadPoolExecutor(1) as pool:
        whole_s = 3 * _WARM_UP_S + 2 * pairs * _SECOND_S
        load = pool.submit(in_process, sent, cluster.client_settings(), rate, whole_s)
        time.sleep(_WARM_UP_S)
        measured = seconds(cluster, pairs)
        at_s, took_ms = load.result()
    counts = [
        [np.histogram(took_ms[(at_s >= a) & (at_s < b)], _EDGES_MS)[0] for a, b in pair] for pair in measured.at_s
    ]
    return measured, np.array(counts, np.float64)


def told(
    resampled: Callable[[Floats], Floats], pairs: int, how: Callable[[Any, Any], Any], name: str
) -> dict[str, Any]:
    """Return a figure without questions and with one a second, and how they differ.

    Args:
        resampled: returns both figures when each pair counts so many times.
        pairs: number of pairs.
        how: how they differ.
        name: what that is called.
    """
    random = np.random.default_rng(1)
    off, on = resampled(np.ones(pairs))
    drawn = random.multinomial(pairs, np.full(pairs, 1 / pairs), _RESAMPLES).astype(np.float64)
    between = [
        round(float(bound), 4) for bound in np.percentile([how(*resampled(weights)) for weights in drawn], [2.5, 97.5])
    ]
    return {"without": round(float(off), 4), "with": round(float(on), 4), name: round(how(off, on), 4), "95%": between}


def _more(off: Any, on: Any) -> float:
    return float(on - off)


def _ratio(off: Any, on: Any) -> float:
    return float(on / off)


def _mean(values: Floats, questions: float) -> Callable[[Floats], Floats]:
    def resampled(weights: Floats) -> Floats:
        off, on = weights @ values / weights.sum()
        return np.array([off, off + (on - off) / questions])

    return resampled


def _p99(counts: Floats, questions: float) -> Callable[[Floats], Floats]:
    def resampled(weights: Floats) -> Floats:
        below = np.cumsum(np.tensordot(weights, counts, 1), axis=1)
        off, on = below / below[:, -1:]
        return np.array([_EDGES_MS[np.searchsorted(share, _P99) + 1] for share in (off, off + (on - off) / questions)])

    return resampled


def main(pairs: int, systems: Sequence[str]) -> None:
    """Measure and print."""
    for name in systems:
        with running(name, 3, _SYSTEMS[name]) as cluster:
            cluster.create_topic(Topic(TOPIC, LOG, 3, 3))
            time.sleep(_WARM_UP_S)
            idle = seconds(cluster, pairs)
            cores = told(_mean(idle.used_s / idle.lasted_s, idle.questions), pairs, _more, "more")
            figures = {"questions_per_s": idle.questions, "cores": cores}
            if name == "kafka":
                full, counts = loaded(cluster, "max", pairs)
                sends = _mean(counts.sum(axis=2) / full.lasted_s, full.questions)
                figures["sends_per_s"] = told(sends, pairs, _ratio, "ratio")
                paced, counts = loaded(cluster, _RATE, _MORE_PAIRS * pairs)
                figures["p99_ms"] = told(_p99(counts, paced.questions), _MORE_PAIRS * pairs, _ratio, "ratio")
        print(json.dumps({name: figures}), flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 60, given[1:] or list(_SYSTEMS))
