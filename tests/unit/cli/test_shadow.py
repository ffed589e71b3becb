"""Packages with generic names are chaoskit's own, or the user is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.shadow import check_packages


def test_here_all_are_our_own() -> None:
    check_packages()


def test_another_package_of_the_same_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=f"the package 'checkers' is .*/checkers, but chaoskit's own is {tmp_path}/checkers"
    ):
        check_packages(tmp_path)
