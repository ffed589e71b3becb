"""Mosquitto's options and its configuration file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.systems.wire import Wire
from clusters.common.properties import Scalar, setting, text
from clusters.mosquitto import wire

PORT = 1883
WIRE = Wire({PORT: "clusters.mosquitto.wire:MqttDecoder"}, wire.MESSAGES, wire.ANSWERS, refusable=wire.REFUSABLE)
CONF = "/etc/chaoskit-mosquitto/mosquitto.conf"
DATA_FOLDER = "mosquitto"
"""Mosquitto's folder on the data disk."""

BRIDGE = "chaoskit"
"""The bridge's name."""

QUEUED_MESSAGES = 1000
"""Mosquitto's default of `max_queued_messages`."""

_OWNED = {
    "listener": "the broker listens on its host's own address",
    "port": "the broker listens on its host's own address",
    "bind_address": "the broker listens on its host's own address",
    "bind_interface": "the broker listens on its host's own address",
    "socket_domain": "the broker listens on its host's own address",
    "persistence_location": "the database is on the host's data disk",
    "persistence_file": "the database is on the host's data disk",
    "log_dest": "the log goes to the host's log of the service",
    "user": "the broker runs as the unprivileged user of services",
    "pid_file": "the host knows the broker's process",
    "daemon": "the broker runs in the foreground",
    "allow_anonymous": "clients of the lab have no names",
    "per_listener_settings": "there is one listener",
    "include_dir": "all settings are in the scenario",
    "password_file": "clients of the lab have no names",
    "acl_file": "clients of the lab may do everything",
    "connection": "write bridge: {qos: 1} instead",
}
"""Settings that belong to chaoskit, and why."""

_OF_BRIDGE = (
    "bridge_attempt_unsubscribe", "bridge_max_packet_size", "bridge_outgoing_retain", "bridge_protocol_version",
    "bridge_tcp_keepalive", "bridge_tcp_user_timeout", "keepalive_interval", "restart_timeout", "try_private",
)  # fmt: skip
"""Settings of a bridge that leave what it promises, and how its state is seen, as they are."""

_RESTART_S, _RECONNECT_S = 30, 5
"""How long a bridge waits at most before it connects again, by default, and how long that may take."""

_SQLITE, _FLUSH_S = "mosquitto_persist_sqlite", 5
"""The plug-in's file, and its default of `plugin_opt_flush_period`."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")

ROLES = ("broker",)


class Bridge(BaseModel):
    """A bridge from the broker of the first host to that of the second.

    Attributes:
        direction: what it forwards. `out`: to the second broker; publishers are at the first one, subscribers at the
            second. `both`: each to the other; clients are at both, in turn.
        qos: quality of service of what it forwards, at most.
        clean_session: whether what waits for the second broker is forgotten when the connection is lost.
        config: further settings of a bridge by Mosquitto's own names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    direction: Literal["out", "both"] = "out"
    qos: Literal[0, 1, 2] = 1
    clean_session: bool = False
    config: dict[str, Scalar] = {}

    @field_validator("config")
    @classmethod
    def _settable(cls, config: dict[str, Scalar]) -> dict[str, Scalar]:
        if strange := [name for name in config if name not in _OF_BRIDGE]:
            raise ValueError(f"{strange[0]} cannot be set here; there are {', '.join(_OF_BRIDGE)}")
        return config

    @property
    def back_s(self) -> int:
        """How long it may take to be back after a fault was healed, s."""
        numbers = re.findall(r"\d+", str(self.config.get("restart_timeout", _RESTART_S)))
        return max(map(int, numbers), default=_RESTART_S) + _RECONNECT_S


class MosquittoOptions(BaseModel):
    """The options of a Mosquitto broker, or of two with a bridge, in addition to their hosts.

    Attributes:
        version: release number: 2.0.11, 2.0.21 or 2.1.2.
        config: settings of `mosquitto.conf` by Mosquitto's own names; without others, the broker has its defaults,
            and `persistence: true`.
        bridge: that between two brokers; None: there is one broker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = "2.0.21"
    config: dict[str, Scalar] = {}
    bridge: Bridge | None = None

    @field_validator("config")
    @classmethod
    def _settable(cls, config: dict[str, Scalar]) -> dict[str, Scalar]:
        for name, value in config.items():
            if name in _OWNED:
                raise ValueError(f"{name} is set by chaoskit: {_OWNED[name]}; remove it")
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a setting of mosquitto.conf")
            if isinstance(value, str) and "\n" in value:
                raise ValueError(f"{name}: a value has one line")
        return config

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return where a setting of Mosquitto belongs: their names have underscores."""
        return f"write settings of mosquitto.conf below config: {{{key}: ...}}" if "_" in key else ""

    @property
    def persistent(self) -> bool:
        """Whether the broker saves sessions and messages to its disk, by itself or with a plug-in."""
        return self.sqlite or is_true(setting(self.config, "persistence", default=True))

    @property
    def sqlite(self) -> bool:
        """Whether the plug-in of release 2.1 saves them to an SQLite database."""
        return any(_SQLITE in str(self.config.get(key)) for key in ("plugin", "global_plugin"))

    @property
    def flush_s(self) -> int:
        """How often that plug-in saves, s."""
        return int(setting(self.config, "plugin_opt_flush_period", _FLUSH_S))

    @property
    def queued_max(self) -> int:
        """How many messages wait for one subscriber at most; 0: any number."""
        return int(setting(self.config, "max_queued_messages", QUEUED_MESSAGES))

    @property
    def queues_unacknowledged(self) -> bool:
        """Whether messages without acknowledgements wait for a subscriber that is away."""
        return is_true(setting(self.config, "queue_qos0_messages", default=False))


def data_folder(data_dir: str) -> str:
    """Return the folder of the broker's data, on the host."""
    return f"{data_dir}/{DATA_FOLDER}"


def in_effect(options: MosquittoOptions, address: str, data_dir: str, bridge_to: str = "") -> dict[str, Scalar]:
    """Return the settings of a broker, those of its bridge last.

    Args:
        options: the options.
        address: of its host.
        data_dir: of its host.
        bridge_to: the address to which its bridge leads; empty if it has none.
    """
    settings = {
        "persistence": True,
        **options.config,
        "listener": f"{PORT} {address}",
        "allow_anonymous": True,
        "persistence_location": f"{data_folder(data_dir)}/",
        "log_dest": "stdout",
    }
    if options.bridge and bridge_to:
        settings |= {
            "connection": BRIDGE,
            "address": f"{bridge_to}:{PORT}",
            "topic": f"# {options.bridge.direction} {options.bridge.qos}",
            "cleansession": options.bridge.clean_session,
            **options.bridge.config,
        }
    return settings


def mosquitto_conf(settings: Mapping[str, Scalar]) -> str:
    """Return the content of mosquitto.conf, in the order of the settings."""
    return "".join(f"{name} {text(value)}\n" for name, value in settings.items() if value is not None)
