"""Names of settings: those that a release knows, and what to say about one that it does not know."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chaoskit.base.errors import BadInput
from clusters.common.properties import Scalar, text

_EDITION = 4
"""Increase it whenever names are gathered from other places: lists from before are then read anew."""

_CLOSE = 0.75
"""Ratio of similarity (difflib) from which a known name is what the user may have meant."""


@dataclass(frozen=True, slots=True)
class Known:
    """The settings of a process.

    Attributes:
        process: its name and release, such as `Kafka 4.1.1`.
        names: the names of its settings.
        families: regular expressions of names that cannot be listed, such as those that plug-ins read.
        elsewhere: settings of something else, with the remedy.
    """

    process: str
    names: frozenset[str]
    families: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] | None = None

    def has(self, name: str) -> bool:
        """Return whether there is such a setting."""
        return name in self.names or any(re.fullmatch(family, name) for family in self.families)


def unknown(key: str, given: Iterable[str], known: Known, unchecked: Collection[str]) -> list[str]:
    """Return an error for each given setting that does not exist.

    Args:
        key: the key that has the settings, such as `cluster.config`.
        given: their names.
        known: the settings that there are.
        unchecked: names that are accepted anyway.
    """
    return [_refuse(key, name, known) for name in given if not known.has(name) and name not in unchecked]


def overridden(key: str, given: Mapping[str, Scalar], written: Iterable[str]) -> list[str]:
    """Return an error for each given setting that chaoskit overrides.

    Args:
        key: the key that has the settings, such as `cluster.config`.
        given: the settings.
        written: contents of the properties files of all hosts.
    """
    kept = [dict(line.split("=", 1) for line in content.splitlines()) for content in written]
    return [
        f"{key}.{name}: chaoskit sets it itself, because hosts, addresses and folders depend on it; remove it"
        for name, value in given.items()
        if value is not None and any(file.get(name, text(value)) != text(value) for file in kept)
    ]


def raise_any(errors: Collection[str]) -> None:
    """Raise all errors as one.

    Raises:
        BadInput: there is at least one.
    """
    if errors:
        raise BadInput("\n".join(errors))


def remembered(jars: Path, gather: Callable[[Path], Mapping[str, Iterable[str]]]) -> dict[str, frozenset[str]]:
    """Return the names of a release by group, from the file beside its folder of jars, or gather and write them."""
    path = jars.with_name(f"{jars.name}.settings-{_EDITION}.json")
    if not path.exists():
        by_group = {group: sorted(names) for group, names in gather(jars).items()}
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as scratch:
            json.dump(by_group, scratch)
        Path(scratch.name).replace(path)
    return {group: frozenset(names) for group, names in json.loads(path.read_text()).items()}


def _refuse(key: str, name: str, known: Known) -> str:
    if remedy := (known.elsewhere or {}).get(name):
        return f"{key}.{name}: {remedy}"
    close = _closest(name, known.names)
    guess = f'; did you mean "{close}"?' if close else "."
    return (
        f"{key}.{name}: {known.process} has no such setting{guess} "
        f"If a plug-in reads it, list it in cluster.config_unchecked"
    )


def _closest(name: str, names: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in sorted(names)}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_CLOSE)
    return by_lower[matches[0]] if matches else ""
