"""URLs of databases, as SQLAlchemy reads them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.secrets import is_reference, resolved

_SUCH_AS = "postgresql://user@host/name or sqlite:////folder/file.db"


def url_of(given: str | Mapping[str, str], key: str) -> Any:
    """Return an SQLAlchemy URL whose driver is installed. Without a driver, PostgreSQL's is psycopg.

    Args:
        given: as in the scenario: a URL, or a reference to one.
        key: where it is written.

    Raises:
        BadInput: it is no URL of a database, has a password in it, or its driver is missing.
    """
    alchemy = library()
    text = str(resolved({"url": given}, key)["url"])
    try:
        url = alchemy.engine.make_url(text)
    except alchemy.exc.ArgumentError as error:
        raise BadInput(f"{key}.url: {text!r} is no URL of a database, such as {_SUCH_AS}") from error
    if url.password and not is_reference(given):
        raise BadInput(
            f"{key}.url: has a password, and a scenario is stored with each run; write {{env: NAME}} or {{file: PATH}}"
        )
    url = url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url
    try:
        url.get_dialect().import_dbapi()
    except alchemy.exc.NoSuchModuleError as error:
        raise BadInput(f"{key}.url: SQLAlchemy knows no {url.drivername!r}; write one such as {_SUCH_AS}") from error
    except ImportError as error:
        raise BadInput(
            f"{key}.url: {url.drivername} needs the package {error.name}: pip install it, or {with_extra('sql')}"
        ) from error
    return url


def library() -> Any:
    """Return SQLAlchemy, which is imported only where a database is read.

    Raises:
        BadInput: it is missing.
    """
    try:
        return importlib.import_module("sqlalchemy")
    except ImportError as error:
        raise BadInput(f"workload.writes: sql needs the package {error.name}: {with_extra('sql')}") from error
