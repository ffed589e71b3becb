"""A connection to the broker, with paho-mqtt.

paho is used without its thread: everything happens in `step`, in the client's own thread, so that the record has one
writer. It does not connect again by itself then; `step` does, a moment after a loss.
"""

from __future__ import annotations

import time
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from clusters.mosquitto.client_settings import ClientSettings
from clusters.mosquitto.settings import PORT

PUBLISHERS, SUBSCRIBERS, BRIDGE_QOS = "publishers", "subscribers", "bridge_qos"
"""What clients are told: the addresses of the brokers that each may use, and the quality of service of a bridge between
them, if there is one."""

AGAIN_S = 0.2
"""Time between two attempts to connect."""

CONNECT_S = 2.0
"""How long one attempt may take, and how long a new client tries before it is returned all the same."""

_STEP_S = 0.02


class Connection:
    """One client of the broker. Subclasses add what happens when it is there, or lost.

    Args:
        settings: its settings.
        address: the broker's address.
        name: client identifier, under which the broker keeps its session.
        manual_ack: whether messages of QoS 1 are acknowledged by calls of `ack`.

    Attributes:
        client: paho's client.
        ready: whether the broker has accepted the connection, and it is not known to be lost.
        asked_ns, heard_ns: when the last attempt to connect began, and when the broker was heard for the last time.
        error: why the connection was lost, or not accepted, since somebody asked last; None: it was not.
    """

    def __init__(self, settings: ClientSettings, address: str, name: str, *, manual_ack: bool = False) -> None:
        self.settings = settings
        self.ready = False
        self.asked_ns = self.heard_ns = 0
        self.error: str | None = None
        self._begun = False
        self._again_at = 0.0
        is_5 = settings.protocol == "5"
        self.client = Client(
            CallbackAPIVersion.VERSION2,
            name,
            None if is_5 else settings.clean_session,
            protocol=MQTTv5 if is_5 else MQTTv311,
            reconnect_on_failure=False,
            manual_ack=manual_ack,
        )
        self.client.connect_timeout = CONNECT_S
        self.client.max_inflight_messages_set(settings.max_inflight)
        self.client.max_queued_messages_set(0)
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self.client.connect_async(address, PORT, settings.keepalive, **(self._session() if is_5 else {}))

    def began(self, session_present: bool) -> None:
        """The broker has accepted the connection."""
        self.ready = True

    def lost(self, why: str) -> None:
        """The connection is lost, or was not accepted."""

    def step(self, timeout_s: float) -> None:
        """Connect if that is due, and do what there is to do; wait so long at most if there is nothing."""
        if not self._begun:
            self._connect(timeout_s)
            return
        before = self._bytes_heard()
        code = self.client.loop(timeout_s)
        if self._bytes_heard() != before:
            self.heard_ns = time.monotonic_ns()
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            self._end(MQTTErrorCode(code).name)

    def settle(self, timeout_s: float) -> None:
        """Try to connect for so long at most."""
        deadline = time.monotonic() + timeout_s
        while not self.ready and time.monotonic() < deadline:
            self.step(_STEP_S)

    def disconnect(self) -> None:
        """Say goodbye."""
        if self._begun:
            self.client.disconnect()
            self.client.loop(_STEP_S)
        self._begun = self.ready = False

    def drop(self) -> None:
        """Close the socket without a word."""
        sock = self.client.socket()
        if sock is not None:
            sock.close()
        self._begun = self.ready = False

    def take_error(self) -> str | None:
        """Return `error`, and forget it."""
        error, self.error = self.error, None
        return error

    def _bytes_heard(self) -> float:
        return self.client._last_bytes_received

    def _connect(self, timeout_s: float) -> None:
        if (wait_s := self._again_at - time.monotonic()) > 0:
            time.sleep(min(wait_s, timeout_s))
            return
        self._again_at = time.monotonic() + AGAIN_S
        self.asked_ns = time.monotonic_ns()
        try:
            self.client.reconnect()
        except OSError as error:
            self.error = type(error).__name__
        else:
            self._begun = True

    def _end(self, why: str) -> None:
        """Note that the connection is lost, once."""
        if self._begun:
            self._begun = self.ready = False
            self.error = why
            self.lost(why)

    def _session(self) -> dict[str, Any]:
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        if expires_s := self.settings.expires_s:
            properties.SessionExpiryInterval = expires_s
        return {"clean_start": self.settings.clean_session, "properties": properties}

    def _on_connect(
        self, client: Client, userdata: Any, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        self.heard_ns = time.monotonic_ns()
        if reason.is_failure:
            self._end(reason.getName())
        else:
            self.began(flags.session_present)

    def _on_disconnect(
        self, client: Client, userdata: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        self._end(reason.getName())
