"""Collects the requirements that a plug-in does not meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel

from chaoskit.contract.power import words


class Wants:
    """A context manager that collects what is missing and raises at the end.

    Args:
        what: name of the plug-in, for the message.

    Raises:
        AssertionError: something is missing; on leaving the context.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._missing: list[str] = []

    def that(self, holds: object, otherwise: str) -> bool:
        """Record `otherwise` as missing unless `holds` is true; return whether it is."""
        if not holds:
            self._missing.append(otherwise)
        return bool(holds)

    def attributes(self, plug_in: Any, *names: str) -> bool:
        """Require these attributes."""
        missing = [name for name in names if not self.that(hasattr(plug_in, name), f"it has no `{name}`")]
        return not missing

    def options(self, model: Any, name: str) -> None:
        """Require a frozen pydantic model that rejects unknown keys."""
        if not self.that(isinstance(model, type) and issubclass(model, BaseModel), f"`{name}` is not a pydantic model"):
            return
        self.that(model.model_config.get("extra") == "forbid", f"`{name}` does not reject unknown keys (extra=forbid)")
        self.that(model.model_config.get("frozen"), f"`{name}` is not frozen")

    def powers(self, powers: Any) -> None:
        """Require powers to be runtime-checkable protocols with a description."""
        for power in powers:
            name = getattr(power, "__name__", repr(power))
            runtime = getattr(power, "_is_runtime_protocol", False)
            self.that(runtime, f"{name} is not a @runtime_checkable protocol")
            self.that(
                words(power) != name,
                f'the first line of the docstring of {name} does not say what it is ("...: <what>")',
            )

    def record(self, value: object, name: str) -> None:
        """Require a frozen dataclass."""
        frozen = is_dataclass(value) and getattr(value, "__dataclass_params__").frozen  # noqa: B009  # is in no stub
        self.that(frozen, f"{name} is not a frozen dataclass: {value!r}")

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Record an exception raised by a step, and continue."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the suite reports whatever a plug-in raises
            self._missing.append(f"{what}: {type(error).__name__}: {error}")

    def __enter__(self) -> Wants:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._missing and kind is None:
            __tracebackhide__ = True
            raise AssertionError(f"{self._what}:\n" + "\n".join(f"  - {want}" for want in self._missing))
