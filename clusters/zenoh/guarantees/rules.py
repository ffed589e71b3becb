"""Zenoh's guarantees: promises, and rules for what its documentation and its maintainers say about losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import MICROSECOND, format_duration
from chaoskit.contract.guarantees.act import LATE, PARTS_CONNECTIONS, Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism, Party, Session, Way
from chaoskit.contract.workloads.traits import Paced
from clusters.common.guarantees.overload import overload
from clusters.common.supervision import RUNS
from clusters.zenoh.guarantees.promise import promise, recovers
from clusters.zenoh.settings import (
    BATCH_BYTES,
    WAIT_BEFORE_CLOSE,
    WAIT_BEFORE_DROP,
    WAITS_BEFORE_DROP_US,
    WAITS_US,
    publisher_settings,
)


def _kept(declared: Declared) -> bool:
    return promise(declared.options.link, declared.producer, declared.consumer).delivery != "at-most-once"


def _recovered(declared: Declared) -> bool:
    return _kept(declared) and recovers(declared.producer, declared.consumer)


def _drop(declared: Declared) -> Sequence[Mechanism]:
    if _kept(declared) or publisher_settings(declared.producer).congestion != "drop":
        return ()
    why = "congestion: drop: a message that finds the queue of a link full for a moment is dropped"
    return _unkept(declared, why)


def _best_effort(declared: Declared) -> Sequence[Mechanism]:
    if _kept(declared) or publisher_settings(declared.producer).qos != "best-effort":
        return ()
    why = "qos: best-effort: a message that finds the queue of a link full is dropped, whatever congestion is"
    return _unkept(declared, why)


def _datagrams(declared: Declared) -> Sequence[Mechanism]:
    if _kept(declared) or declared.options.link != "udp":
        return ()
    return _unkept(declared, "link: udp: a datagram is sent once")


def _unkept(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return how a message is lost that nobody keeps."""
    by, patience_ns = _drops(declared)
    way = Way(why=why, path=_way(declared), by=by, patience_ns=patience_ns, in_order=False)
    paced = declared.get(Paced)
    if paced is not None and paced.size > BATCH_BYTES:
        large = f"{why}; one of {paced.size} bytes takes several batches of {BATCH_BYTES}, which fill it at once"
        return way, Choice(why=large)
    return way, *overload(declared, why)


def _drops(declared: Declared) -> tuple[Act, int]:
    """Return what makes a link drop messages, and how late packets may be, ns, before it does."""
    waits_ns = int(declared.options.config.get(WAIT_BEFORE_DROP, WAITS_BEFORE_DROP_US)) * MICROSECOND
    return PARTS_CONNECTIONS | LATE | Act.DROPS, waits_ns + 1


def _way(declared: Declared) -> tuple[Party, ...]:
    if declared.options.mode == "router":
        return (Party.PRODUCER, Party.BROKERS, Party.BROKERS, Party.CONSUMER)
    return (Party.PRODUCER, Party.CONSUMER)


def _process_ended(declared: Declared) -> Sequence[Mechanism]:
    if not _kept(declared):
        return ()
    why = "a message that was put is in the memory of its publisher or of a router, which ended"
    return (Way(why=why, path=(Party.PRODUCER, Party.BROKERS), by=Act.ENDS, for_consumer=True),)


def _cache(declared: Declared) -> Sequence[Mechanism]:
    if not _recovered(declared):
        return ()
    kept = publisher_settings(declared.producer).cache
    why = f"producer.cache: {kept}: a publisher keeps no more of a topic for subscribers that lack some"
    by, patience_ns = _drops(declared)
    return (Limit(why=why, measure=Measure.NEWER, most=kept, path=_way(declared), by=by, patience_ns=patience_ns),)


def _not_heard(declared: Declared) -> Sequence[Mechanism]:
    lease_ns, blocks = declared.options.lease, publisher_settings(declared.producer).congestion == "block"
    waits_ns = int(declared.options.config.get(WAIT_BEFORE_CLOSE, WAITS_US)) * MICROSECOND
    path = _way(declared)
    ended = "who is behind a router or a peer that ended, or was stopped, counts as gone"
    lease = f"lease: {format_duration(lease_ns)}: who is behind a link that is not heard for so long counts as gone"
    mechanisms: list[Mechanism] = [
        Session(why=ended, path=path, by=Act.ENDS | Act.STOPS, after_ns=lease_ns, group=True),
        Session(why=lease, path=path, by=_SILENT, longer_ns=lease_ns, after_ns=lease_ns, group=True),
    ]
    if declared.options.mode == "router":
        mechanisms.append(Session(why=ended, path=(Party.BROKERS,), by=Act.SILENCES, after_ns=lease_ns, group=True))
    closed = "a link that blocks for wait_before_close is closed, and who is behind it counts as gone"
    if blocks:
        why = f"congestion: block: {closed}"
        mechanisms.append(Session(why=why, path=path, by=_SILENT, longer_ns=waits_ns, after_ns=lease_ns, group=True))
    if _recovered(declared):  # the answers wait for each other, and may go on to do so once the link is whole
        why, (by, patience_ns) = f"the answers of a cache block: {closed}", _drops(declared)
        after_ns = waits_ns + lease_ns
        mechanisms.append(Session(why=why, path=path, by=by, patience_ns=patience_ns, after_ns=after_ns, group=True))
    return mechanisms


_SILENT = PARTS_CONNECTIONS | Act.DROPS
"""What may keep a link from being heard."""

_DOCS = "zenoh, docs.rs/zenoh, qos::CongestionControl, qos::Reliability"
_CONFIG = "zenoh, DEFAULT_CONFIG.json5, transport/link/tx"
_FEEDBACK = "eclipse-zenoh/zenoh, issue 2587"

RULES = (
    Rule(
        "zenoh.drop",
        ("missed",),
        _drop,
        "set producer: {congestion: block}",
        f"{_DOCS}; {_CONFIG}/queue/congestion_control/drop; eclipse-zenoh/zenoh, issue 2258; {_FEEDBACK}",
        "zenoh/large-messages:drop",
        "zenoh/large-messages:block",
    ),
    Rule(
        "zenoh.best-effort",
        ("missed",),
        _best_effort,
        "set qos: reliable and producer: {congestion: block}",
        _DOCS,
        "zenoh/packet-loss:udp",
        "zenoh/packet-loss:tcp",
    ),
    Rule(
        "zenoh.datagrams",
        ("missed",),
        _datagrams,
        "set link: tcp",
        f"{_CONFIG}; zenoh, zenoh-link-udp: an unreliable link",
        "zenoh/packet-loss:udp-reliable",
        "zenoh/packet-loss:tcp",
    ),
    Rule(
        "zenoh.process-ended",
        ("lost", "late-joiner-lost"),
        _process_ended,
        "",
        f"{_DOCS}: a put returns once the message is in a queue",
        "zenoh/crash-publisher:killed",
        "zenoh/crash-publisher:alive",
    ),
    Rule(
        "zenoh.cache",
        ("lost",),
        _cache,
        "set producer.cache to what is published during the longest outage",
        "zenoh-ext, AdvancedPublisher, CacheConfig: max_samples",
        "zenoh/partition:small-cache",
        "zenoh/partition:recovered",
    ),
    Rule(
        "zenoh.not-heard",
        ("false-alarm",),
        _not_heard,
        "set cluster.lease to more than the longest outage",
        f"{_CONFIG}/lease, queue/congestion_control/block/wait_before_close; zenoh, docs.rs/zenoh, liveliness: a token "
        "is gone with the last link of its session",
        "zenoh/one-way:beyond-lease",
        "zenoh/partition:block",
        alone=True,
    ),
)

_PROMISED = {
    "crashed": RUNS,
    "lost": "a publisher that blocks delivers to every subscriber that is there, as long as links hold; a subscriber "
    "that recovers gets what a cache has",
    "missed": "what is sent over a healthy network, and fits into the queue, arrives",
    "late-joiner-lost": "a subscriber with history gets what the caches of the publishers that are there have",
    "stale": "messages of a publisher replace each other in the order in which they were put",
    "stuck": "a message is sent to every subscriber that is there once it was put",
    "phantom": "only messages that were put are delivered",
    "misrouted": "a message is delivered to subscribers of its key",
    "corrupt": "messages are delivered as they were put",
    "failed-visible": "a put fails for sure only if there is no session",
    "fifo-violation": "a subscriber gets the messages of one publisher in the order in which they were put",
    "duplicate": "a subscriber gets a message once",
    "redelivered": "a subscriber gets a message once",
    "unnoticed": "the liveliness token of a client that ended is gone at once, or after the lease",
    "false-alarm": "the liveliness token of a client stays as long as its session",
}


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    return _PROMISED


GUARANTEES = Guarantees(RULES, promises)
