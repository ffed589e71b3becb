"""Cyclone DDS's guarantees: promises, and rules for what the DDS specification says about losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import SECOND, format_duration
from chaoskit.contract.guarantees.act import PARTS_CONNECTIONS, Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Limit, Measure, Mechanism, Party, Session, Way
from clusters.common.guarantees.overload import overload
from clusters.common.supervision import RUNS
from clusters.cyclonedds.guarantees.promise import promise
from clusters.cyclonedds.settings import EndpointSettings, reader_settings, writer_settings

_ASSERTED_NS = 2 * SECOND
"""A participant says that it is alive so long before its lease ends, or a fifth of the lease, if that is less."""


def _reliable(declared: Declared) -> bool:
    return promise(declared.options.lease, declared.producer, declared.consumer).delivery != "at-most-once"


def _best_effort(declared: Declared) -> Sequence[Mechanism]:
    if all(side.qos == "reliable" for _, side in _sides(declared)):
        return ()
    why = "qos: best-effort: a sample is sent once, and its arrival is not reported"
    slow = "qos: best-effort: a reader that is slower than its writers misses what its buffers cannot hold"
    by = PARTS_CONNECTIONS | Act.DROPS | Act.SLOWS
    return Way(why=why, path=_WAY, by=by, in_order=False), *overload(declared, slow)


def _keep_last(declared: Declared) -> Sequence[Mechanism]:
    kept = [(role, side) for role, side in _sides(declared) if side.history == "keep-last"]
    if not kept:
        return ()
    depth = min(side.depth for _, side in kept)
    side = f"{kept[0][0]}: {{history: keep-last, depth: {depth}}}"
    why = f"{side}: a sample that was not delivered is replaced by a newer one"
    return (Limit(why=why, measure=Measure.NEWER, most=depth, path=()),)


def _sides(declared: Declared) -> tuple[tuple[str, EndpointSettings], ...]:
    return ("producer", writer_settings(declared.producer)), ("consumer", reader_settings(declared.consumer))


def _writer_ended(declared: Declared) -> Sequence[Mechanism]:
    if not _reliable(declared) or writer_settings(declared.producer).acks == "readers":
        return ()
    why = "acks: write: a sample that no reader has acknowledged is only in the memory of its writer, which ended"
    return (Way(why=why, path=(Party.PRODUCER,), by=Act.ENDS, for_consumer=True),)


def _lease(declared: Declared) -> Sequence[Mechanism]:
    lease_ns = declared.options.lease
    if not _reliable(declared):
        return ()
    lease = format_duration(lease_ns)
    why = f"lease: {lease}: a peer that is not heard for so long is given up, with what it had not acknowledged"
    return (Way(why=why, path=_WAY, by=_SILENT, longer_ns=lease_ns),)


def _not_heard(declared: Declared) -> Sequence[Mechanism]:
    lease_ns = promise(declared.options.lease, declared.producer, declared.consumer).liveliness_ns
    key = "lease" if lease_ns == declared.options.lease else "producer.liveliness_lease"
    lease = f"{key}: {format_duration(lease_ns)}"
    why = f"{lease}: a writer that is not heard for so long counts as not alive"
    mechanisms = [Session(why=why, path=_WAY, by=_SILENT, longer_ns=lease_ns, after_ns=lease_ns, group=True)]
    if any(side.qos == "best-effort" for _, side in _sides(declared)):
        shortly = "a best-effort reader is heard only when its participant says that it is alive, shortly before that"
        why = f"{lease}: {shortly}; a writer that has given it up sends it nothing"
        longer_ns = min(_ASSERTED_NS, lease_ns // 5)
        mechanisms.append(Session(why=why, path=_WAY, by=_SILENT, longer_ns=longer_ns, after_ns=lease_ns, group=True))
    return mechanisms


def _owner_ended(declared: Declared) -> Sequence[Mechanism]:
    promised = promise(declared.options.lease, declared.producer, declared.consumer)
    if not promised.exclusive:
        return ()
    lease = format_duration(promised.liveliness_ns)
    why = f"ownership: exclusive: an owner that ended without a word stays the owner for {lease}"
    lasts_ns = promised.liveliness_ns
    return (Way(why=why, path=(Party.PRODUCER,), by=Act.ENDS, after_ns=lasts_ns, in_order=False, anyone=True),)


_WAY = (Party.PRODUCER, Party.CONSUMER)
_SILENT = PARTS_CONNECTIONS | Act.DROPS
"""What may keep a peer from being heard."""

_DDS = "OMG DDS 1.4"
_RTPS = "OMG DDSI-RTPS 2.5"

RULES = (
    Rule(
        "cyclonedds.best-effort",
        ("missed",),
        _best_effort,
        "set qos: reliable for producer and consumer",
        f"{_DDS}, 2.2.3.14 RELIABILITY",
        "cyclonedds/packet-loss:best-effort",
        "cyclonedds/packet-loss:reliable",
    ),
    Rule(
        "cyclonedds.keep-last",
        ("missed",),
        _keep_last,
        "set history: keep-all for producer and consumer",
        f"{_DDS}, 2.2.3.18 HISTORY",
        "cyclonedds/partition:keep-last",
        "cyclonedds/partition:keep-all",
    ),
    Rule(
        "cyclonedds.writer-ended",
        ("lost", "late-joiner-lost"),
        _writer_ended,
        "set producer: {acks: readers}",
        f"{_DDS}, 2.2.2.4.2.11 write, 2.2.2.4.1.12 wait_for_acknowledgments",
        "cyclonedds/crash-publisher:write",
        "cyclonedds/crash-publisher:readers",
    ),
    Rule(
        "cyclonedds.lease",
        ("lost",),
        _lease,
        "set cluster.lease to more than the longest outage",
        f"{_RTPS}, 8.5.3.2 SPDPdiscoveredParticipantData, leaseDuration; Cyclone DDS, Discovery/LeaseDuration",
        "cyclonedds/one-way:beyond-lease",
        "cyclonedds/one-way:within-lease",
    ),
    Rule(
        "cyclonedds.not-heard",
        ("false-alarm",),
        _not_heard,
        "set producer.liveliness_lease, and cluster.lease, to more than the longest outage",
        f"{_DDS}, 2.2.3.11 LIVELINESS; Cyclone DDS, ddsi_pmd.c",
        "cyclonedds/liveliness:cut",
        "cyclonedds/liveliness:short-cut",
        alone=True,
    ),
    Rule(
        "cyclonedds.owner-ended",
        ("lost", "missed"),
        _owner_ended,
        "set producer.liveliness_lease to less than a publisher takes to be started again",
        f"{_DDS}, 2.2.3.9 OWNERSHIP, 2.2.3.10 OWNERSHIP_STRENGTH; Cyclone DDS, dds_rhc_default.c",
        "cyclonedds/ownership:owner-restarts",
        "cyclonedds/ownership:shared",
    ),
)

_PROMISED = {
    "crashed": RUNS,
    "lost": "a reliable reader gets what a reliable writer with which it is matched has written, if both keep all",
    "missed": "a sample that is sent over a healthy network arrives",
    "late-joiner-lost": "a transient-local reader gets what a transient-local writer has kept",
    "stale": "samples of a writer replace each other in the order in which they were written",
    "stuck": "a sample is sent to every reader that is matched once it was written",
    "phantom": "only samples that were written are delivered",
    "misrouted": "a sample is delivered to readers of its topic",
    "corrupt": "samples are delivered as they were written",
    "failed-visible": "no write is said to have failed for sure",
    "fifo-violation": "a reader takes the samples of one writer in the order in which they were written",
    "duplicate": "a reader takes a sample once",
    "redelivered": "a reader takes a sample once",
    "unnoticed": "a reader gets notice of a writer that is not alive after its lease, and of a missed deadline",
    "false-alarm": "a writer that is heard is alive, and a deadline that was met is not missed",
    "not-owner": "with exclusive ownership a reader gets samples of the strongest writer that is alive",
}


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    return _PROMISED


GUARANTEES = Guarantees(RULES, promises)
