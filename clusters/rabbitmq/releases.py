"""RabbitMQ's releases: each is in one release of Debian, which keeps only the current one of each branch."""

from __future__ import annotations

from datetime import date

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import Root
from chaoskit.contract.systems.releasing import Tested
from clusters.common import debian
from clusters.common.release import numbers_of

MNESIA, KHEPRI = "mnesia", "khepri"
_PACKAGE = "rabbitmq-server"

_DEBIAN = {(3, 10): "bookworm", (4, 0): "trixie", (4, 3): "sid"}
"""Which release of Debian has which branch of RabbitMQ."""

_METADATA = {(3, 10): (MNESIA,), (4, 0): (MNESIA, KHEPRI), (4, 3): (KHEPRI,)}
"""Which metadata stores a branch has, its default first."""

_GROUPS_SINCE = (3, 11)
"""Single active consumers and super streams came with 3.11 (RabbitMQ documentation, Streams)."""

_NEWEST = "sid"

TESTED = Tested("3.10.8", "4.3.6", date(2026, 11, 29))

_SEEN = "3.10.8, 4.0.5, 4.3.6"
"""What the archive had in November 2026; another number of the same branch is accepted if the archive has it."""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is no release number, or of a branch that Debian does not have.
    """
    numbers = numbers_of("RabbitMQ", version, f"write one of {_SEEN}")
    if _branch(numbers) not in _DEBIAN:
        raise BadInput(f"cluster.version: there is no Debian package of RabbitMQ {version}; there are {_SEEN}")
    return numbers


def newest_release() -> str:
    """Return the newest release that the archive has.

    Raises:
        BadInput: it does not answer; names the remedy.
    """
    return debian.newest(_NEWEST, _PACKAGE)


def metadata_of(version: str, asked: str | None) -> str:
    """Return where a release stores its metadata. Raises like `parse_version`, and if the release has no such store."""
    stores = _METADATA[_branch(parse_version(version))]
    if asked is not None and asked not in stores:
        raise BadInput(f"cluster.metadata: RabbitMQ {version} has no {asked}; write {' or '.join(stores)}")
    return asked or stores[0]


def has_groups_of_streams(version: str) -> bool:
    """Return whether a release lets consumers of streams be members of a group."""
    return parse_version(version) >= _GROUPS_SINCE


def _branch(numbers: tuple[int, ...]) -> tuple[int, int]:
    return numbers[0], numbers[1]


def root_of(version: str) -> Root:
    """Return the root file system that has a release. Raises like `parse_version`."""
    return Root(_DEBIAN[_branch(parse_version(version))], {_PACKAGE: version})
