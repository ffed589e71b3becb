"""Mosquitto's guarantees: promises, and rules for what its documentation, MQTT's and paho's say about losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import format_duration
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism, Party, Retry, Session, Way
from chaoskit.contract.guarantees.setting import is_true
from clusters.common.guarantees.overload import overload
from clusters.common.supervision import RUNS
from clusters.mosquitto.client_settings import promise, publisher_settings, subscriber_settings

AT_MOST_ONCE, AT_LEAST_ONCE, EXACTLY_ONCE = range(3)
"""Which promise holds: MQTT's numbers of the quality of service."""

_NAMES = ("at-most-once", "at-least-once", "exactly-once")


def _qos(declared: Declared) -> int:
    bridge = declared.options.bridge
    promised = promise(declared.producer, declared.consumer, bridge.qos if bridge else None)
    return _NAMES.index(promised.delivery)


def _lasting(declared: Declared) -> bool:
    return promise(declared.producer, declared.consumer).lasting


def _qos_0(declared: Declared) -> Sequence[Mechanism]:
    if _qos(declared) != AT_MOST_ONCE:
        return ()
    why = "QoS 0: messages are not acknowledged, and none is kept for a subscriber that is away"
    slow = "QoS 0: a subscriber that is slower than its publishers misses what its connection's buffers cannot hold"
    return Way(why=why, path=_WAY), *overload(declared, slow)


def _unsaved(declared: Declared) -> Sequence[Mechanism]:
    if not declared.options.persistent:
        why = "persistence: false: the broker keeps sessions and messages in memory only, and it ended"
    elif declared.options.sqlite:
        every_s = declared.options.flush_s
        why = f"the SQLite plug-in saves every {every_s} s (plugin_opt_flush_period), and the broker ended in between"
    else:
        why = "the broker keeps sessions and messages in memory, and saves them from time to time; it ended in between"
    return (Way(why=why, path=(Party.HOLDERS,), by=Act.ENDS, for_consumer=True),)


def _queue_full(declared: Declared) -> Sequence[Mechanism]:
    most = declared.options.queued_max
    if not most:
        return ()
    why = f"max_queued_messages: {most}: no more than that wait for a subscriber, or a bridge, that is away or slower"
    return (Limit(why=why, measure=Measure.WAITING, most=most),)


def _clean_bridge(declared: Declared) -> Sequence[Mechanism]:
    bridge = declared.options.bridge
    if bridge is None or not bridge.clean_session:
        return ()
    why = "bridge: {clean_session: true}: nothing waits for the other broker while the bridge is not connected"
    return (Way(why=why, path=(Party.HOLDERS, Party.HOLDERS), for_consumer=True),)


def _member_ended(declared: Declared) -> Sequence[Mechanism]:
    subscriber = subscriber_settings(declared.consumer)
    if not subscriber.share or _lasting(declared):
        return ()
    why = "share: what was on its way to a member of the group whose session ended goes to no other member"
    return (Way(why=why, path=(Party.HOLDERS, Party.CONSUMER), in_order=False, anyone=True),)


def _session_expired(declared: Declared) -> Sequence[Mechanism]:
    expiry_ns = subscriber_settings(declared.consumer).session_expiry
    if expiry_ns is None:
        return ()
    why = f"session_expiry: {format_duration(expiry_ns)}: the session of a subscriber that was away for longer is gone"
    return (Limit(why=why, measure=Measure.ABSENT, most=expiry_ns, path=(Party.CONSUMER, Party.HOLDERS)),)


def _message_expired(declared: Declared) -> Sequence[Mechanism]:
    expiry_ns = publisher_settings(declared.producer).message_expiry
    if expiry_ns is None:
        return ()
    why = f"message_expiry: {format_duration(expiry_ns)}: what waits for a subscriber for longer is deleted"
    return (Limit(why=why, measure=Measure.LEFT, most=expiry_ns, path=(Party.CONSUMER, Party.HOLDERS)),)


def _in_memory_of_client(declared: Declared) -> Sequence[Mechanism]:
    if _qos(declared) != EXACTLY_ONCE or not _lasting(declared):
        return ()
    why = "a subscriber takes a message of QoS 2 over before it was recorded, and keeps it in memory"
    return (Way(why=why, path=(Party.CONSUMER,), by=Act.ENDS),)


def _at_least_once(declared: Declared) -> Sequence[Mechanism]:
    if _qos(declared) != AT_LEAST_ONCE:
        return ()
    why = "QoS 1: what was not acknowledged when a connection ended is sent again"
    return (
        Session(why=why, path=(Party.CONSUMER, Party.HOLDERS)),
        Retry(why=why, path=(Party.PRODUCER, Party.HOLDERS, Party.HOLDERS)),
    )


def _clean_publisher(declared: Declared) -> Sequence[Mechanism]:
    publisher = publisher_settings(declared.producer)
    if _qos(declared) != EXACTLY_ONCE or not publisher.clean_session:
        return ()
    why = "clean_session: true of publishers: the broker forgets with the connection which messages it has received"
    return (Retry(why=why, path=(Party.PRODUCER, Party.HOLDERS)),)


def _qos_2_forgotten(declared: Declared) -> Sequence[Mechanism]:
    if _qos(declared) != EXACTLY_ONCE:
        return ()
    why = "the broker ended without saving which messages of QoS 2 it had received and delivered"
    return (
        Session(why=why, path=(Party.HOLDERS,), by=Act.ENDS),
        Retry(why=why, path=(Party.HOLDERS,), by=Act.ENDS),
    )


def _echo(declared: Declared) -> Sequence[Mechanism]:
    bridge = declared.options.bridge
    if bridge is None or bridge.direction != "both" or is_true(bridge.config.get("try_private", True)):
        return ()
    why = "bridge: {config: {try_private: false}}: the other broker does not know it for a bridge, and sends all back"
    return (Choice(why=why),)


_WAY = (Party.PRODUCER, Party.HOLDERS, Party.HOLDERS, Party.CONSUMER)
"""From a publisher through its broker, and perhaps a bridge to another one, to a subscriber."""

_MAN = "mosquitto.conf(5), https://mosquitto.org/man/mosquitto-conf-5.html"
_MQTT = "MQTT 3.1.1 (OASIS)"

RULES = (
    Rule(
        "mosquitto.qos-0",
        ("missed",),
        _qos_0,
        "publish and subscribe with qos: 1",
        f"{_MQTT}, 4.3.1 QoS 0: At most once delivery; {_MAN}, queue_qos0_messages",
        "mosquitto/crash-subscriber:qos-0",
        "mosquitto/crash-subscriber:kept",
    ),
    Rule(
        "mosquitto.queue-full",
        ("lost",),
        _queue_full,
        "set config: {max_queued_messages: 0}",
        f"{_MAN}, max_queued_messages",
        "mosquitto/crash-subscriber:queue-full",
        "mosquitto/crash-subscriber:kept",
    ),
    Rule(
        "mosquitto.unsaved",
        ("lost", "late-joiner-lost", "stale"),
        _unsaved,
        "set config: {autosave_on_changes: true, autosave_interval: 1}, which makes it rare",
        f"{_MAN}, persistence, autosave_interval; https://mosquitto.org/documentation/persistence/sqlite/; "
        "eclipse-mosquitto/mosquitto, issue 1855",
        "mosquitto/broker-ends:killed",
        "mosquitto/broker-ends:stopped",
    ),
    Rule(
        "mosquitto.clean-bridge",
        ("lost",),
        _clean_bridge,
        "set bridge: {clean_session: false}",
        f"{_MAN}, cleansession",
        "mosquitto/bridge:clean",
        "mosquitto/bridge:kept",
    ),
    Rule(
        "mosquitto.echo",
        ("redelivered", "duplicate"),
        _echo,
        "leave try_private at its default, true",
        f"{_MAN}, try_private",
        "mosquitto/bridge:echo",
        "mosquitto/bridge:both-quiet",
        alone=True,
    ),
    Rule(
        "mosquitto.member-ended",
        ("lost",),
        _member_ended,
        "set consumer: {clean_session: false}",
        "eclipse-mosquitto/mosquitto, issue 2662; MQTT 5.0 (OASIS), 4.8.2: a server should send it to another",
        "mosquitto/shared:clean",
        "mosquitto/shared:kept",
        alone=True,
    ),
    Rule(
        "mosquitto.session-expired",
        ("lost",),
        _session_expired,
        "set consumer.session_expiry to more than the longest absence",
        "MQTT 5.0 (OASIS), 3.1.2.11.2 Session Expiry Interval",
        "mosquitto/crash-subscriber:expired",
        "mosquitto/crash-subscriber:not-expired",
    ),
    Rule(
        "mosquitto.message-expired",
        ("lost",),
        _message_expired,
        "set producer.message_expiry to more than the longest absence, or remove it",
        "MQTT 5.0 (OASIS), 3.3.2.3.3 Message Expiry Interval",
        "mosquitto/crash-subscriber:message-expired",
        "mosquitto/crash-subscriber:kept",
    ),
    Rule(
        "mosquitto.client-memory",
        ("lost",),
        _in_memory_of_client,
        "use qos: 1",
        "paho.mqtt.python, README, Known limitations: a session is only in the client's memory",
        "mosquitto/crash-subscriber:qos-2",
        "mosquitto/crash-subscriber:kept",
        alone=True,
    ),
    Rule(
        "mosquitto.at-least-once",
        ("redelivered",),
        _at_least_once,
        "publish and subscribe with qos: 2",
        f"{_MQTT}, 4.3.2 QoS 1: At least once delivery",
        "mosquitto/partition:qos-1",
        "mosquitto/partition:qos-2",
        alone=True,
    ),
    Rule(
        "mosquitto.clean-publisher",
        ("duplicate",),
        _clean_publisher,
        "set producer: {clean_session: false}",
        f"{_MQTT}, 4.1 Storing state, 3.1.2.4 Clean Session",
        "mosquitto/partition:qos-2-clean",
        "mosquitto/partition:qos-2",
        alone=True,
    ),
    Rule(
        "mosquitto.qos-2-forgotten",
        ("duplicate",),
        _qos_2_forgotten,
        "",
        f"{_MAN}, persistence, autosave_interval; {_MQTT}, 4.1 Storing state",
        "mosquitto/broker-ends:qos-2",
        "mosquitto/broker-ends:stopped",
        alone=True,
    ),
)

_PROMISED = {
    "crashed": RUNS,
    "lost": "with QoS 1 or 2 an acknowledged message is delivered to every subscription that is in place",
    "missed": "without a fault, what is written to a connection arrives",
    "late-joiner-lost": "the last retained message of a topic is given to every subscription that begins",
    "stale": "a retained message replaces the one before",
    "stuck": "a message is sent to every subscriber that is connected once it was published",
    "phantom": "only messages that were published are delivered",
    "misrouted": "a message is delivered to subscribers of its topic",
    "corrupt": "messages are delivered as they were published",
    "failed-visible": "a publish counts as failed only if there was no connection, or the broker refused the message",
    "fifo-violation": "a broker delivers messages of one publisher and topic in the order in which they were published",
    "duplicate": "with QoS 0 a message is sent once, and with QoS 2 it is delivered once",
    "redelivered": "without a fault, nothing is sent again",
}


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    return _PROMISED


GUARANTEES = Guarantees(RULES, promises)
