"""Zenoh's guarantees: promises, and rules for what its documentation and its maintainers say about losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import SECOND, format_duration
from chaoskit.contract.guarantee import Declared, Effect, Guarantees, Rule
from chaoskit.contract.traits import Paced
from clusters.common.effects import disturbed, longest_ns
from clusters.common.supervision import RUNS
from clusters.zenoh.client import promise, recovers
from clusters.zenoh.settings import BATCH_BYTES, WAIT_BEFORE_CLOSE, WAITS_US, publisher_settings


def _kept(declared: Declared) -> bool:
    return promise(declared.options.link, declared.producer, declared.consumer).delivery != "at-most-once"


def _recovered(declared: Declared) -> bool:
    return _kept(declared) and recovers(declared.producer, declared.consumer)


def _drop(declared: Declared, effects: Sequence[Effect]) -> str:
    if _kept(declared) or publisher_settings(declared.producer).congestion != "drop":
        return ""
    paced = declared.get(Paced)
    full = paced is not None and (paced.size > BATCH_BYTES or paced.per_second is None)
    if not full and not disturbed(effects):
        return ""
    return "congestion: drop: a message that finds the queue of a link full for a moment is dropped"


def _best_effort(declared: Declared, effects: Sequence[Effect]) -> str:
    if _kept(declared) or publisher_settings(declared.producer).qos != "best-effort" or not disturbed(effects):
        return ""
    return "qos: best-effort: a message that finds the queue of a link full is dropped, whatever congestion is"


def _datagrams(declared: Declared, effects: Sequence[Effect]) -> str:
    if _kept(declared) or declared.options.link != "udp" or not disturbed(effects):
        return ""
    return "link: udp: a datagram is sent once"


def _process_ended(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _kept(declared) or not any(each.abrupt for each in effects):
        return ""
    return "a message that was put is in the memory of its publisher or of a router, which ended"


def _cache(declared: Declared, effects: Sequence[Effect]) -> str:
    paced = declared.get(Paced)
    if not _recovered(declared) or paced is None:
        return ""
    kept, rate = publisher_settings(declared.producer).cache, paced.per_second
    away_ns = longest_ns(declared, effects)
    if not away_ns or (rate is not None and rate * away_ns / SECOND <= kept):
        return ""
    return f"producer.cache: {kept}: a publisher keeps no more of a topic for subscribers that lack some"


def _not_heard(declared: Declared, effects: Sequence[Effect]) -> str:
    silent_ns = longest_ns(declared, effects)
    lease_ns, blocks = declared.options.lease, publisher_settings(declared.producer).congestion == "block"
    routed = declared.options.mode == "router"
    if any(each.on_hosts and (each.abrupt or (routed and each.delays and not each.on_links)) for each in effects):
        return "who is behind a router or a peer that ended, or was stopped, counts as gone"
    if silent_ns >= lease_ns:
        return f"lease: {format_duration(lease_ns)}: who is behind a link that is not heard for so long counts as gone"
    if blocks and silent_ns >= int(declared.options.config.get(WAIT_BEFORE_CLOSE, WAITS_US)) * 1000:
        return (
            "congestion: block: a link that blocks for wait_before_close is closed, and who is behind it counts as gone"
        )
    return ""


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
        anywhere=True,
    ),
    Rule(
        "zenoh.best-effort",
        ("missed",),
        _best_effort,
        "set qos: reliable and producer: {congestion: block}",
        _DOCS,
        "zenoh/packet-loss:udp",
        "zenoh/packet-loss:tcp",
        anywhere=True,
    ),
    Rule(
        "zenoh.datagrams",
        ("missed",),
        _datagrams,
        "set link: tcp",
        f"{_CONFIG}; zenoh, zenoh-link-udp: an unreliable link",
        "zenoh/packet-loss:udp-reliable",
        "zenoh/packet-loss:tcp",
        anywhere=True,
    ),
    Rule(
        "zenoh.process-ended",
        ("lost", "late-joiner-lost"),
        _process_ended,
        "",
        f"{_DOCS}: a put returns once the message is in a queue",
        "zenoh/crash-publisher:killed",
        "zenoh/crash-publisher:alive",
        anywhere=True,
    ),
    Rule(
        "zenoh.cache",
        ("lost",),
        _cache,
        "set producer.cache to what is published during the longest outage",
        "zenoh-ext, AdvancedPublisher, CacheConfig: max_samples",
        "zenoh/congestion:small-cache",
        "zenoh/congestion:recovered",
        anywhere=True,
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
        anywhere=True,
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
