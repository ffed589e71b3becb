"""The settings of a Kafka release, read from its jars: of brokers and controllers, and of topics.

They are the texts in the classes that define them. Texts that are not settings, such as values, are known too, which
only matters if a misspelled name is one. Not checked: settings of plug-ins (`FAMILIES`), and values; Kafka checks
values itself when the log folder is formatted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from clusters.common.javaclass import classes
from clusters.common.names import Known, overridden, raise_any, remembered, unknown
from clusters.kafka.settings import KafkaOptions, nodes, server_properties, zookeepers
from clusters.zookeeper import known as zookeeper
from clusters.zookeeper.server import ZOOKEEPER, zoo_cfg

BROKER, TOPIC = "broker", "topic"

FAMILIES = (
    r"listener\.name\..+",
    r"(ssl|sasl|config\.providers|kafka\.metrics|remote\.log\.metadata|r[sl]mm?\.config)\..+",
)
"""Settings with a listener's name in them, and those that plug-ins read."""

_ZOO_CFG = "cluster.zookeeper.config"
"""The key that has the settings of ZooKeeper's servers."""

_INTERNAL = (r"internal\..+",)
"""Settings of topics that Kafka's own tests use."""

_JARS = ("kafka*.jar",)
_PLACES = (
    r"kafka/(server|security/authorizer|metrics)/\w*(Config|Authorizer)s?\$?"
    r"|org/apache/kafka/(common/config|coordinator|metadata|network|raft|security|server|storage)(/\w+)*"
    r"/\w*(Configs?|Authorizer)"
)
"""The classes that define settings, in releases from 3.0 on."""

_OTHERS = re.compile(r".*/(ClientMetricsConfigs|GroupConfig)")
"""Classes that define settings of clients and of consumer groups, which are not in the file of a broker."""

_GROUP_DEFAULT = "group."
"""How the names of brokers begin that are defaults of groups' settings; from 4.4 on both are in one class."""

_CONFIG = "kafka/server/KafkaConfig$"
_FRAGMENT = re.compile(r"dirs?|(cleaner|flush|index|roll|segment|retention)\..+")
"""Names in this class that lack their prefix `log.`, in releases from 3.1 to 3.8, which add it when they run."""

_OF_CLIENTS = "/TopicBasedRemoteLogMetadataManagerConfig"
"""A class with settings of the clients that it makes."""

_NAME = re.compile(r"listeners|(?!org\.|kafka\.(authorizer|security))[a-z][a-z0-9]*(\.[a-z0-9]+)+")
_NAME_OF_TOPIC = re.compile(r"preallocate|[a-z]+(\.[a-z0-9]+)+")
OF_TOPICS = "org/apache/kafka/common/config/TopicConfig"
"""The class that defines the settings of topics."""

_THROTTLED = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}

_SAME = re.compile(r"compression\..+|min\.insync\.replicas|unclean\.leader\.election\.enable")
"""Settings of topics whose defaults have the same name in the configuration of brokers."""

_OTHERWISE = {
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}
"""Settings of topics whose defaults have another name in the configuration of brokers; for all others, `log.` and the
name of the topic's setting."""

_MORE = {"log.roll.hours", "log.roll.jitter.hours", "log.retention.hours", "log.retention.minutes"}


def check_names(options: KafkaOptions, jars: Path) -> None:
    """Reject settings that the release does not have.

    Args:
        options: as in the scenario.
        jars: folder of the release's jars.

    Raises:
        BadInput: names each setting, with the nearest one that exists.
    """
    if not options.config and not options.topic and not options.zookeeper.config:
        return
    names = remembered(jars, gather)
    process, unchecked = f"Kafka {options.version}", options.config_unchecked
    brokers = Known(process, names[BROKER], FAMILIES, _of_topics(names[TOPIC] - names[BROKER]))
    topics = Known(f"a topic of {process}", names[TOPIC], _INTERNAL, _of_brokers(names[BROKER] - names[TOPIC]))
    raise_any(
        [
            *unknown("cluster.config", options.config, brokers, unchecked),
            *unknown("cluster.topic", options.topic, topics, unchecked),
            *zookeeper.errors(_ZOO_CFG, options.zookeeper.config, names[ZOOKEEPER], process, unchecked),
        ]
    )


def check_topology(options: KafkaOptions, hosts: int) -> None:
    """Reject settings that chaoskit overrides on a host.

    Raises:
        BadInput: names each setting.
    """
    addresses = [f"host-{index}" for index in range(hosts)]
    written = [server_properties(options, addresses, index, []) for index in nodes(options, hosts)]
    servers = {index + 1: addresses[index] for index in zookeepers(options, hosts)}
    given = options.zookeeper.config
    of_zookeeper = [zoo_cfg(given, servers, address, "") for address in servers.values()]
    raise_any([*overridden("cluster.config", options.config, written), *overridden(_ZOO_CFG, given, of_zookeeper)])


def gather(jars: Path) -> Mapping[str, Iterable[str]]:
    """Return the names of settings in the jars of a release, by `BROKER`, `TOPIC` and `ZOOKEEPER`."""
    strings = {
        name: java_class.strings for name, java_class in classes(jars, _JARS, _PLACES) if not name.endswith(_OF_CLIENTS)
    }
    topics = {text for text in strings[OF_TOPICS] if _NAME_OF_TOPIC.fullmatch(text)} | _THROTTLED
    of_groups = {text for name, texts in strings.items() if _OTHERS.fullmatch(name) for text in texts}
    others = {text for text in of_groups if not text.startswith(_GROUP_DEFAULT)}
    brokers = {text for texts in strings.values() for text in texts if _NAME.fullmatch(text)}
    fragments = {text for text in strings.get(_CONFIG, ()) if _FRAGMENT.fullmatch(text)}
    brokers = (brokers - topics - others - fragments) | {f"log.{text}" for text in fragments - topics}
    brokers |= _defaults_of_topics(topics - _THROTTLED)
    return {TOPIC: topics, BROKER: brokers, ZOOKEEPER: zookeeper.gather(jars)}


def _defaults_of_topics(topics: Collection[str]) -> set[str]:
    """Return the names that the defaults of topics' settings have in the configuration of brokers."""
    return _MORE | {name if _SAME.fullmatch(name) else _OTHERWISE.get(name, f"log.{name}") for name in topics}


def _of_topics(names: Iterable[str]) -> dict[str, str]:
    """Return remedies for settings of topics among those of brokers."""
    return {
        name: f"this is a setting of topics; use cluster.topic, or for all topics {_OTHERWISE.get(name, f'log.{name}')}"
        for name in names
    }


def _of_brokers(names: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(names, "this is a setting of brokers; write it below cluster.config")
