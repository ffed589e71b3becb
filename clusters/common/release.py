"""Release numbers, as users write them."""

from __future__ import annotations

from collections.abc import Container
from importlib import metadata

from chaoskit.base.errors import BadInput


def numbers_of(system: str, version: str, remedy: str, parts: Container[int] = (3,)) -> tuple[int, ...]:
    """Return the parts of a release number.

    Args:
        system: its name in error messages, such as `Pulsar`.
        version: as the user wrote it.
        remedy: what to write instead, for error messages.
        parts: how many parts it may have.

    Raises:
        BadInput: it is not a release number.
    """
    texts = version.split(".")
    if not all(text.isdigit() for text in texts) or len(texts) not in parts:
        raise BadInput(f"cluster.version: {version!r} is not a release number of {system}; {remedy}")
    return tuple(int(text) for text in texts)


def installed(package: str) -> str:
    """Return the release of an installed package; empty if there is none, as where runs are only judged."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def check_installed(package: str, version: str) -> None:
    """Reject a release that is not that of an installed package.

    Raises:
        BadInput: another one is installed; says which, and the remedy.
    """
    if version != (present := installed(package)):
        raise BadInput(
            f"cluster.version: the package {package} {present} is installed; install {version}, or remove the key"
        )
