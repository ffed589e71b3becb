"""The other packages of chaoskit have generic names: another package of such a name must not take their place."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from chaoskit.base.errors import BadInput

PACKAGES = ("checkers", "clusters", "nemeses", "spark_analysis", "workloads")
"""Packages that are installed together with `chaoskit`."""

_HOME = Path(__file__).parents[2]


def check_packages(home: Path = _HOME) -> None:
    """Check that these packages are chaoskit's own.

    Args:
        home: the folder that has them all.

    Raises:
        BadInput: another package of the same name comes first on sys.path, or one is missing.
    """
    for name in PACKAGES:
        spec = find_spec(name)
        folder = Path(spec.origin).parent if spec and spec.origin else None
        if folder != home / name:
            where = f"is {folder}" if folder else "is missing"
            raise BadInput(
                f"the package {name!r} {where}, but chaoskit's own is {home / name}: another package of that name "
                "comes first on sys.path. Install chaoskit in a virtual environment of its own, and start it elsewhere"
            )
