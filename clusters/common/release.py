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


def only_installed(package: str, version: str) -> str:
    """Return a release that is that of an installed package, as a validator of options.

    Raises:
        ValueError: another one is installed; says which, and the remedy.
    """
    if version != (installed := metadata.version(package)):
        raise ValueError(f"the package {package} {installed} is installed; install {version}, or remove the key")
    return version
