"""Every anomaly that an installed checker knows fires on its history, and not on the one beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gallery import GALLERY
from gallery_table import table

from chaoskit.contract.installed import checkers

DOCS = Path(__file__).parents[3] / "docs" / "anomalies.md"


NAMES = [anomaly.name for checker in checkers() for anomaly in checker.anomalies]


@pytest.mark.parametrize("name", NAMES)
def test_it_fires(name: str) -> None:
    assert name in GALLERY[name](True).names()


@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_fire_beside(name: str) -> None:
    assert name not in GALLERY[name](False).names()


def test_the_documented_examples_are_what_is_printed() -> None:
    assert table() in DOCS.read_text(encoding="utf-8"), "run python tests/unit/checkers/gallery_table.py"
