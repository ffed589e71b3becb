"""Every installed kind of fault is whole: it tells what it does, is described in the docs, and is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from chaoskit.base import plugins
from chaoskit.cli.main import cli
from chaoskit.contract.guarantee import Damage
from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import Nemesis
from chaoskit.contract.power import words
from chaoskit.scenario.model import Choice, FaultSpec

DOCS = Path(__file__).parents[2] / "docs"
FAMILIES = {"process", "network", "disk", "clock", "client", "membership"}


@pytest.mark.parametrize("kind", plugins.names("nemesis"))
def test_a_kind_is_whole(kind: str) -> None:
    found = nemesis(kind)

    assert found.family in FAMILIES
    assert found.hits in {"hosts", "clients"}
    assert found.summary
    assert found.__doc__
    assert found.parameters.model_config["extra"] == "forbid"
    assert found.parameters.model_config["frozen"]
    assert Nemesis in type(found).__mro__, "a nemesis is a class that inherits from Nemesis"
    assert all(words(power) != power.__name__ for power in (*found.host_powers, *found.cluster_powers))
    assert isinstance(found.damage(found.parameters.model_construct()), Damage)


@pytest.mark.parametrize("kind", plugins.names("nemesis"))
def test_no_key_of_a_kind_is_one_of_the_engine(kind: str) -> None:
    of_engine = {field.alias or name for model in (FaultSpec, Choice) for name, field in model.model_fields.items()}

    assert not of_engine & set(nemesis(kind).parameters.model_fields)


@pytest.mark.parametrize("kind", plugins.names("nemesis"))
def test_a_kind_has_its_place_in_the_docs(kind: str) -> None:
    assert f"`{kind}`" in (DOCS / "nemeses.md").read_text()
    page = (DOCS / "nemeses" / f"{nemesis(kind).family}.md").read_text() + (DOCS / "disk.md").read_text()
    assert f"`{kind}`" in page
    for key in nemesis(kind).parameters.model_fields:
        assert key in page, f"{key} of {kind} is not described"


def test_the_program_lists_all_kinds_and_tells_about_one() -> None:
    listed = CliRunner().invoke(cli, ["nemeses"], standalone_mode=False).output
    told = CliRunner().invoke(cli, ["nemeses", "partition"], standalone_mode=False).output

    assert all(kind in listed for kind in plugins.names("nemesis"))
    assert "direction" in told
    assert "peers" in told
