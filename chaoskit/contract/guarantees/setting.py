"""Settings: what a system is configured to do, as a scenario declares it and as the running system reports it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from chaoskit.base.errors import BadInput

_BOOLEANS = ("true", "false", "yes", "no")
_WHOLE_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting from which guarantees follow.

    Options hold what a scenario declares. A run is judged by options that hold what was in effect; see
    `chaoskit.judge.subject.in_effect`.

    Attributes:
        name: its own name in the system.
        default: its value where nobody sets it; values in effect have the same type.
        section: the keys in the system's options below which a scenario declares it.
        reporter: whose report has the value in effect: the first word of the keys of `Reporting.settings_in_effect`,
            such as `broker`; empty: nobody reports it.
        key: its key in the section; empty: its name.
        inherits: the setting that counts where this one is not declared, such as a broker's for its topics.
    """

    name: str
    default: bool | int | str
    section: tuple[str, ...] = ("config",)
    reporter: str = ""
    key: str = ""
    inherits: Setting | None = None

    def declared(self, options: Any) -> Any:
        """Return the value that the options hold; None if they do not."""
        own = self._own(options)
        return self.inherits.declared(options) if own is None and self.inherits is not None else own

    def _own(self, options: Any) -> Any:
        own = options
        for key in self.path:
            own = _member(own, key)
        return own

    def of(self, options: Any) -> Any:
        """Return its value: of the options, or the default."""
        value = self.declared(options)
        return self.default if value is None else value

    def number_of(self, options: Any) -> int:
        """Return its value as a whole number."""
        return int(self.of(options))

    def is_sound(self, options: Any) -> bool:
        """Return that what is declared, here or where it is inherited from, is of the type of the default.

        Raises:
            BadInput: names the key and the remedy.
        """
        value = self._own(options)
        key = f"cluster.{'.'.join(self.path)}"
        if isinstance(self.default, bool):
            if value is not None and str(value).lower() not in _BOOLEANS:
                raise BadInput(f"{key}: {value!r} is not true or false")
        elif isinstance(self.default, int) and value is not None and not _WHOLE_NUMBER.fullmatch(str(value)):
            raise BadInput(f"{key}: {value!r} is not a whole number, without a unit")
        return self.inherits is None or self.inherits.is_sound(options)

    def is_on(self, options: Any) -> bool:
        """Return whether its value is true."""
        return is_true(self.of(options))

    @property
    def path(self) -> tuple[str, ...]:
        """The keys under which a scenario declares it."""
        return (*self.section, self.key or self.name)

    def reports(self, reported: Mapping[str, Mapping[str, Any]]) -> dict[str, bool | int | str]:
        """Return, by process or topic, the values that were reported; not those that are not set."""
        return {
            of: self._typed(settings[self.name])
            for of, settings in reported.items()
            if self.reporter and of.split()[0] == self.reporter and settings.get(self.name) is not None
        }

    def _typed(self, value: Any) -> bool | int | str:
        if isinstance(self.default, bool):
            return is_true(value)
        return int(value) if isinstance(self.default, int) else str(value)

    def same(self, one: Any, other: Any) -> bool:
        """Return whether two values, as YAML or as text, mean the same."""
        return self._typed(one) == self._typed(other)


def is_true(value: Any) -> bool:
    """Return whether a setting, as a YAML value or as text, is true."""
    return str(value).lower() in ("true", "yes")


def _member(options: Any, key: str) -> Any:
    return getattr(options, key) if isinstance(options, BaseModel) else options.get(key)
