"""Whether a broker answers in MQTT: it accepts a CONNECT; and whether its bridge is connected."""

from __future__ import annotations

import socket
import time

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from clusters.mosquitto.settings import PORT

_CONNECT = bytes.fromhex("100c 0004 4d515454 04 02 000a 0000".replace(" ", ""))
"""CONNECT of MQTT 3.1.1 with a clean session, a keep-alive of 10 s and no client identifier."""

_CONNACK_ACCEPTED = bytes.fromhex("20020000")
_BRIDGES = "$SYS/broker/connection/+/state"
"""Where a broker tells of each bridge whether it is connected: 1 or 0, retained."""

_STEP_S = 0.05
_DISCONNECT = bytes.fromhex("e000")


def answers(address: str, timeout_s: float) -> bool:
    """Return whether the broker at this address accepts a connection in time."""
    try:
        with socket.create_connection((address, PORT), timeout=timeout_s) as probe:
            probe.settimeout(timeout_s)
            probe.sendall(_CONNECT)
            answer = probe.recv(len(_CONNACK_ACCEPTED), socket.MSG_WAITALL)
            probe.sendall(_DISCONNECT)
            return answer == _CONNACK_ACCEPTED
    except OSError:
        return False


def bridged(address: str, timeout_s: float) -> bool:
    """Return whether the broker at this address tells in time that its bridge is connected."""
    payloads: list[bytes] = []
    client = Client(CallbackAPIVersion.VERSION2)

    def connected(*_: object) -> None:
        client.subscribe(_BRIDGES)

    client.on_connect = connected
    client.on_message = lambda _client, _data, message: payloads.append(bytes(message.payload))
    deadline = time.monotonic() + timeout_s
    try:
        client.connect(address, PORT)
        while b"1" not in payloads and time.monotonic() < deadline:
            client.loop(_STEP_S)
        client.disconnect()
    except OSError:
        return False
    return b"1" in payloads
