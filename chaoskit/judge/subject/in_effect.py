"""The settings in effect: rules judge by what the running system reported, not by what the scenario wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chaoskit.base import store
from chaoskit.contract.guarantees.setting import Setting

Reported = Mapping[str, Mapping[str, Any]]
"""By process or topic, its settings; see `chaoskit.contract.systems.service.Reporting`."""


def read_reported(folder: Path) -> Reported | None:
    """Return the settings in effect of a run; None if it has no such file, as a run of an older chaoskit.

    Raises:
        BadInput: the file is damaged.
    """
    path = folder / store.EFFECTIVE
    return store.read_json(path, dict[str, dict[str, Any]]) if path.exists() else None


def in_effect(options: Any, settings: Sequence[Setting], reported: Reported) -> tuple[Any, list[str]]:
    """Return a system's options with the values in effect, and what of them is in doubt, as sentences.

    A value that differs from the declared one is in doubt: the run does not show what the scenario declares.

    Args:
        options: the options as the scenario declares them.
        settings: the settings from which the system's guarantees follow.
        reported: what the running system reported.
    """
    doubts: list[str] = []
    for setting in settings:
        values = setting.reports(reported)
        declared = setting.declared(options)
        if declared is not None:
            doubts += [
                f"{setting.name} of {of} was {value}, not {declared} as the scenario declares"
                for of, value in values.items()
                if not setting.same(value, declared)
            ]
        if len(set(values.values())) > 1:
            listed = ", ".join(f"{value} of {of}" for of, value in values.items())
            doubts.append(f"{setting.name} was not the same everywhere: {listed}")
        elif values:
            options = _with(options, setting.path, next(iter(values.values())))
    return options, [*doubts, *_unreported(settings, reported)]


def _unreported(settings: Sequence[Setting], reported: Reported) -> list[str]:
    reporters = {name.split()[0] for name in reported}
    silent = dict.fromkeys(setting.reporter for setting in settings if setting.reporter not in {"", *reporters})
    return [f"no {reporter} reported the settings in effect" for reporter in silent]


def _with(options: Any, path: Sequence[str], value: Any) -> Any:
    """Return options, or a part of them, with another value of a setting."""
    if not path:
        return value
    key, *rest = path
    if isinstance(options, BaseModel):
        return options.model_copy(update={key: _with(getattr(options, key), rest, value)})
    return {**options, key: value}
