"""Whether a broker answers in MQTT: it accepts a CONNECT."""

from __future__ import annotations

import socket

from clusters.mosquitto.settings import PORT

_CONNECT = bytes.fromhex("100c 0004 4d515454 04 02 000a 0000".replace(" ", ""))
"""CONNECT of MQTT 3.1.1 with a clean session, a keep-alive of 10 s and no client identifier."""

_CONNACK_ACCEPTED = bytes.fromhex("20020000")
_DISCONNECT = bytes.fromhex("e000")


def answers(address: str, timeout_s: float) -> bool:
    """Return whether the broker at this address accepts a connection in time."""
    try:
        with socket.create_connection((address, PORT), timeout=timeout_s) as probe:
            probe.settimeout(timeout_s)
            probe.sendall(_CONNECT)
            told = probe.recv(len(_CONNACK_ACCEPTED), socket.MSG_WAITALL)
            probe.sendall(_DISCONNECT)
            return told == _CONNACK_ACCEPTED
    except OSError:
        return False
