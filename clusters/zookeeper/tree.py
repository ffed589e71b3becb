"""A client of ZooKeeper, for looking into its tree while faults are active."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from chaoskit.contract.systems.service import ServiceError

CONNECT_S = 3
"""Time limit for connecting to a server that serves, while trying others that do not."""

_QUIET = logging.getLogger("chaoskit.kazoo")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


@contextmanager
def connected(servers: str, what: str) -> Iterator[KazooClient]:
    """Yield a client.

    Args:
        servers: a connection string.
        what: what is looked up, for error messages.

    Raises:
        ServiceError: no server serves.
    """
    client = KazooClient(servers, logger=_QUIET)
    try:
        client.start(timeout=CONNECT_S)
        yield client
    except (KazooException, KazooTimeoutError) as error:
        raise ServiceError(f"no ZooKeeper server serves {what}: {error}") from error
    finally:
        client.stop()
        client.close()
