"""What it costs to record the membership about once a second: sends a second, p99, and processor time.

One load on a running cluster of three brokers, with a topic of three partitions; the recording
(`chaoskit.run.survey`) is off and on in turns of a few seconds meanwhile, so that a drift of the machine hits both.
Kafka: 100-byte messages, acks=all, at the maximum rate, and at 2,000/s, from the call to the acknowledgement.
Processor time: what the machine uses while nothing is sent, in cores. Prints one JSON line a system; `noise` is how
much turns without the recording differ from each other.

    sudo .venv/bin/python -m benchmarks.membership [PAIRS] [SECONDS] [SYSTEM]...
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import psutil

from benchmarks.latency import acknowledged
from benchmarks.recording import TOPIC, in_process, running
from chaoskit.contract.datamodel import LOG
from chaoskit.contract.service import Service
from chaoskit.contract.topic import Topic
from chaoskit.run.survey import Survey
from clusters.kafka.settings import KafkaOptions
from clusters.pulsar.settings import PulsarOptions
from clusters.rabbitmq.settings import RabbitOptions
from workloads.log.options import LogOptions

Sent = npt.NDArray[np.float64]
"""When each send was acknowledged (CLOCK_MONOTONIC, s), and how long after its call (ms)."""

_WARM_UP_S = 8.0
_SETTLE_S = 0.5
_SYSTEMS = {
    "kafka": KafkaOptions(topic={"min.insync.replicas": 2}),
    "rabbitmq": RabbitOptions(),
    "pulsar": PulsarOptions(),
}


@contextmanager
def surveyed(cluster: Service) -> Iterator[None]:
    """Record the membership meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        survey = Survey(cluster, Path(folder), time.monotonic_ns(), str)
        survey.start()
        try:
            yield
        finally:
            survey.close()


def turns(cluster: Service, pairs: int, seconds: float, look: Callable[[], float]) -> list[tuple[float, float]]:
    """Have the recording off and on in turns, in either order; return what is seen at the begin and the end of each
    turn, of each pair off first."""
    seen = []
    for pair in range(pairs):
        both: dict[bool, tuple[float, float]] = {}
        for on in (False, True) if pair % 2 else (True, False):
            with surveyed(cluster) if on else nullcontext():
                time.sleep(_SETTLE_S)
                begin = look()
                time.sleep(seconds)
                both[on] = begin, look()
        seen += [both[False], both[True]]
    return seen


def busy() -> float:
    """Return how many seconds of processor time the machine has used."""
    used = psutil.cpu_times()
    return float(sum(getattr(used, each) for each in ("user", "nice", "system", "irq", "softirq")))


def sent(connection: dict[str, Any], rate: int | Literal["max"], seconds: float) -> Sent:
    """Send for so long, with everything recorded."""
    options = LogOptions(rate=rate, message_size=100, producer={"acks": "all"})
    sends, done = acknowledged(connection, options, seconds)
    acked = done > 0
    return np.stack([done[acked] / 1e9, (done[acked] - sends["start_ns"][acked]) / 1e6])


def loaded(cluster: Service, rate: int | Literal["max"], pairs: int, seconds: float) -> Sequence[Sent]:
    """Return what was sent in each turn, off first."""
    whole_s = _WARM_UP_S + 2 * pairs * (seconds + 2 * _SETTLE_S)
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(in_process, sent, cluster.client_settings(), rate, whole_s)
        time.sleep(_WARM_UP_S)
        spans = turns(cluster, pairs, seconds, time.monotonic)
        acked = load.result()
    return [acked[:, (acked[0] >= begin) & (acked[0] < end)] for begin, end in spans]


def compared(values: Sequence[float]) -> dict[str, Any]:
    """Return the medians, off and on, quartiles of the ratios of neighbours, and of those of turns that are off."""
    off, on = np.array(values[::2]), np.array(values[1::2])
    return {
        "off": round(float(np.median(off)), 4),
        "on": round(float(np.median(on)), 4),
        "ratio": [round(float(each), 4) for each in np.percentile(on / off, [25, 50, 75])],
        "noise": [round(float(each), 4) for each in np.percentile(off[1:] / off[:-1], [25, 50, 75])],
        "more": [round(float(each), 4) for each in np.percentile(on - off, [25, 50, 75])],
    }


def main(pairs: int, seconds: float, systems: Sequence[str]) -> None:
    """Measure and print."""
    for name in systems:
        with running(name, 3, _SYSTEMS[name]) as cluster:
            cluster.create_topic(Topic(TOPIC, LOG, 3, 3))
            time.sleep(_WARM_UP_S)
            used = [(end - begin) / seconds for begin, end in turns(cluster, pairs, seconds, busy)]
            told = {"cores": compared(used)}
            if name == "kafka":
                rates = [each.shape[1] / seconds for each in loaded(cluster, "max", pairs, seconds)]
                p99 = [float(np.percentile(each[1], 99)) for each in loaded(cluster, 2_000, pairs, seconds)]
                told |= {"sends_per_s": compared(rates), "p99_ms": compared(p99)}
        print(json.dumps({name: told}), flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 10, float(given[1]) if len(given) > 1 else 4, given[2:] or list(_SYSTEMS))
