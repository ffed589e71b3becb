"""How long it takes to explain a million lost messages: `python benchmarks/explain.py [MILLIONS]`.

Kafka, three replicas, flushing left to the OS: all lose their power, and everything that was acknowledged is gone. And
the same where a leader that acknowledged alone is replaced.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.explaining.attribution import Attribution
from chaoskit.judge.explaining.record import Record, RecordedSends
from chaoskit.model.place import Place
from chaoskit.model.tables import PLACEMENTS

SECOND = 1_000_000_000
LOAD_NS = 60 * SECOND
HOSTS = ("n1", "n2", "n3")


class MadeRecord(Record):
    """A run whose sends are made, at one rate, each acknowledged after 2 ms."""

    def __init__(self, count: int, declared: Declared, effects: list[Effect], placements: Placements) -> None:
        super().__init__(declared, effects, placements, hosts=HOSTS)
        start_ns = np.arange(count) * LOAD_NS // count
        value = np.arange(count)
        self._made = RecordedSends(value, start_ns, start_ns + 2_000_000, np.ones(count, np.bool_), value, value)

    def sends(self, place: Place) -> RecordedSends | None:
        return self._made


def placements(*leaders: tuple[float, str]) -> Placements:
    rows = [
        {"at_ns": int(at_s * SECOND), "topic": "log-0", "partition": 0, "host": host, "role": role}
        for at_s, leader in leaders
        for role, hosts in (("leader", (leader,)), ("replica", HOSTS), ("in-sync", HOSTS))
        for host in hosts
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


def lost(record: MadeRecord, first: int) -> pa.Table:
    sends = record.sends(("log-0", 0))
    assert sends is not None
    count = sends.value.size - first
    columns = {
        "value": sends.value[first:], "position": sends.position[first:], "op": sends.value[first:],
        "at_ns": sends.end_ns[first:], "written_ns": sends.start_ns[first:], "acked_ns": sends.end_ns[first:],
    }  # fmt: skip
    words = {"anomaly": "lost", "topic": "log-0"}
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([words[field.name]]))
        if field.name in words
        else pa.array(np.zeros(count, np.int32))
        if field.name == "partition"
        else pa.array(columns[field.name])
        if field.name in columns
        else pa.nulls(count, field.type)
        for field in FINDINGS
    ]
    return pa.table(arrays, FINDINGS)


def main() -> None:
    count = int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1e6)
    kafka = system("kafka", "system")
    cut = Effect(
        "power-cut", HOSTS, True, Damage.FORGETS, LOAD_NS, LOAD_NS + 4 * SECOND, acts=Act.ENDS, done_ns=LOAD_NS + SECOND
    )
    kill = replace(cut, kind="kill", targets=("n1",), damage=Damage.NONE)
    for name, producer, fault, leaders in (
        ("power cut of all, acks=all", {"acks": "all"}, cut, [(0, "n1")]),
        ("kill of the leader, acks=1", {"acks": "1"}, kill, [(0, "n1"), (61, "n2")]),
    ):
        declared = Declared(kafka.options(), 3, 3, (Topic("log-0", replication=3),), producer, {})
        record = MadeRecord(count, declared, [fault], placements(*leaders))
        first = 0 if fault is cut else count // 2
        findings = lost(record, first)
        begin = time.perf_counter()
        explained = Attribution(kafka.guarantees, anomalies(), record).explain(findings)
        took_s = time.perf_counter() - begin
        done = sum(number for cause, number in explained.causes["lost"] if cause is not None)
        print(f"{name}: {done:,} of {findings.num_rows:,} lost messages explained in {took_s:.2f} s")


if __name__ == "__main__":
    main()
