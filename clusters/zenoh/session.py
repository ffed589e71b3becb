"""This process's session with the network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import zenoh

from clusters.zenoh.configuration import built, client
from clusters.zenoh.settings import CONFIG

AGAIN_S = 0.2
"""Time between two attempts to open it."""

OPEN_S = 3.0
"""How long a new client tries to open it before it is returned all the same."""


def opened(connection: Mapping[str, Any], routers: Sequence[str]) -> zenoh.Session:
    """Return the session; a process has one for each order of the routers.

    Args:
        connection: what clients are told.
        routers: addresses of the routers; the first one that answers is its own. None: there are only peers.

    Raises:
        zenoh.ZError: no router answers.
    """
    return _opened(json.dumps([client(connection, routers), connection[CONFIG]]))


@lru_cache(maxsize=2)
def _opened(configuration: str) -> zenoh.Session:
    own, settings = json.loads(configuration)
    return zenoh.open(built(own, settings))
