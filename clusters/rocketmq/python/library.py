"""RocketMQ's Python client, which need not be installed."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import os
import shutil
import tempfile
from functools import cache
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra

_PACKAGE = "rocketmq"
_HOME = "HOME"
_REQUEST_S = 5


def check() -> None:
    """Check that the client is installed.

    Raises:
        BadInput: it is not.
    """
    if importlib.util.find_spec(_PACKAGE) is None:
        raise BadInput(f"cluster.clients: python: its client is missing; {with_extra(_PACKAGE)}")


@cache
def library() -> Any:
    """Import the client.

    It logs into the home folder from then on, at once; here that is a folder that is removed with this process.
    """
    home = os.environ.get(_HOME)
    scratch = tempfile.mkdtemp(prefix="rocketmq-log-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.environ[_HOME] = scratch
    try:
        return importlib.import_module(_PACKAGE)
    finally:
        if home is None:
            del os.environ[_HOME]
        else:
            os.environ[_HOME] = home


def configuration(endpoints: str) -> Any:
    """Return how a client reaches proxies.

    Args:
        endpoints: addresses and ports, with a semicolon between them.
    """
    known = library()
    return known.ClientConfiguration(endpoints, known.Credentials(), request_timeout=_REQUEST_S)
