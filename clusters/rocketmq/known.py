"""The settings of a RocketMQ release, read from its jars: the fields of the classes that its files fill.

A server takes what it knows from its file and ignores the rest (`MixAll.properties2Object`), so that a misspelt name
would do nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from chaoskit.base.errors import BadInput, Problems
from clusters.common.javaclass import classes
from clusters.common.names import Known, overridden, raise_any, remembered, unknown
from clusters.rocketmq.settings import RocketOptions, broker_conf, namesrv_conf

_SERVERS = "servers"
_JARS = ("rocketmq-*.jar",)
_CLASSES = (
    r"org/apache/rocketmq/(common/(BrokerConfig|ControllerConfig|JraftConfig|BrokerIdentity|namesrv/NamesrvConfig)"
    r"|store/config/MessageStoreConfig|remoting/netty/Netty(Server|Client)Config|auth/config/AuthConfig)"
)


def check_names(options: RocketOptions, jars: Path) -> None:
    """Reject settings that the release does not have.

    Args:
        options: as in the scenario.
        jars: folder of the release's jars.

    Raises:
        BadInput: names each setting, with the nearest one that exists.
    """
    if options.config:
        known = Known(f"RocketMQ {options.version}", remembered(jars, gather)[_SERVERS])
        raise_any(unknown("cluster.config", options.config, known, options.config_unchecked))


def check_topology(options: RocketOptions, hosts: int) -> None:
    """Reject settings that chaoskit overrides on a host, and those that a mode makes meaningless.

    Raises:
        BadInput: names each setting.
    """
    problems = Problems()
    role = options.config.get("brokerRole")
    if options.elects and role is not None:
        problems.add(BadInput("cluster.config.brokerRole: an elected master is always a SYNC_MASTER; remove it"))
    elif role not in (None, "ASYNC_MASTER", "SYNC_MASTER"):
        problems.add(BadInput(f"cluster.config.brokerRole: {role}: the master's is ASYNC_MASTER or SYNC_MASTER"))
    addresses = [f"host-{index}" for index in range(hosts)]
    files = [write(options, addresses, 0, "") for write in (namesrv_conf, broker_conf)]
    problems.tried(raise_any, overridden("cluster.config", options.config, files))
    problems.raise_any()


def gather(jars: Path) -> Mapping[str, Iterable[str]]:
    """Return the names of settings in the jars of a release."""
    return {_SERVERS: {field for _, java_class in classes(jars, _JARS, _CLASSES) for field in java_class.fields}}
