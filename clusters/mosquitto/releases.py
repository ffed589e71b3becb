"""Mosquitto's releases: each is in one release of Debian, which keeps only the current one of each branch."""

from __future__ import annotations

from datetime import date

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import Root
from chaoskit.contract.systems.releasing import Tested
from clusters.common import debian
from clusters.common.release import numbers_of

_PACKAGE = "mosquitto"

_DEBIAN = {(2, 0, 11): "bookworm", (2, 0, 21): "trixie", (2, 1): "sid"}
"""Which release of Debian has which release or branch of Mosquitto."""

_NEWEST = "sid"

TESTED = Tested("2.0.11", "2.1.2", date(2026, 11, 29))

_SEEN = "2.0.11, 2.0.21, 2.1.2"
"""What the archive had in November 2026; another number of branch 2.1 is accepted if the archive has it."""


def root_of(version: str) -> Root:
    """Return the root file system that has a release.

    Raises:
        BadInput: it is no release number, or Debian does not have it.
    """
    numbers = numbers_of("Mosquitto", version, f"write one of {_SEEN}")
    release = _DEBIAN.get(numbers) or _DEBIAN.get(numbers[:2])
    if release is None:
        raise BadInput(f"cluster.version: there is no Debian package of Mosquitto {version}; there are {_SEEN}")
    return Root(release, {_PACKAGE: version})


def newest_release() -> str:
    """Return the newest release that the archive has.

    Raises:
        BadInput: it does not answer; names the remedy.
    """
    return debian.newest(_NEWEST, _PACKAGE)
