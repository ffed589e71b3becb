"""Every installed kind of fault is described in the docs, and is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from chaoskit.base import plugins
from chaoskit.cli.main import cli
from chaoskit.contract.installed import nemesis

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("kind", plugins.names("nemesis"))
def test_a_kind_has_its_place_in_the_docs(kind: str) -> None:
    assert f"`{kind}`" in (DOCS / "nemeses.md").read_text()
    page = (DOCS / "nemeses" / f"{nemesis(kind).family}.md").read_text() + (DOCS / "disk.md").read_text()
    assert f"`{kind}`" in page
    for key in nemesis(kind).parameters.model_fields:
        assert key in page, f"{key} of {kind} is not described"


def test_the_program_lists_all_kinds_and_tells_about_one() -> None:
    listed = CliRunner().invoke(cli, ["nemeses"], standalone_mode=False).output
    text = CliRunner().invoke(cli, ["nemeses", "partition"], standalone_mode=False).output

    assert all(kind in listed for kind in plugins.names("nemesis"))
    assert "direction" in text
    assert "peers" in text
