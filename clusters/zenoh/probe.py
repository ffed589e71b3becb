"""Whether a router answers in Zenoh: it accepts a session."""

from __future__ import annotations

import json

import zenoh

from clusters.zenoh.configuration import PORT


def answers(link: str, address: str, timeout_s: float) -> bool:
    """Return whether the router at this address accepts a session in time."""
    configuration = {
        "mode": "client",
        "connect": {"endpoints": [f"{link}/{address}:{PORT}"], "timeout_ms": 0},
        "scouting": {"multicast": {"enabled": False}},
        "transport": {"unicast": {"open_timeout": round(timeout_s * 1000)}},
    }
    try:
        zenoh.open(zenoh.Config.from_json5(json.dumps(configuration))).close()  # type: ignore[no-untyped-call]
    except zenoh.ZError:
        return False
    return True
