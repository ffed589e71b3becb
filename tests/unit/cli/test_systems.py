"""What is supported of each system is printed from what the systems declare, and the docs say the same."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from chaoskit.cli.main import cli

DOCS = Path(__file__).parents[3] / "docs" / "systems.md"


def printed(*arguments: str) -> str:
    return CliRunner().invoke(cli, ["systems", *arguments], standalone_mode=False, catch_exceptions=False).stdout


def test_the_docs_say_what_is_printed() -> None:
    said = DOCS.read_text(encoding="utf-8")

    assert said.endswith(printed("--markdown")), "run chaoskit systems --markdown"


def test_one_system_is_described_with_the_reasons_for_what_it_lacks() -> None:
    text = " ".join(printed("bookkeeper").split())

    for words in ("ledger", "ensemble-bookie", "never: BookKeeper has ledgers, not topics", "decommission"):
        assert words in text


def test_a_cell_is_a_word_or_a_sentence() -> None:
    rows = [line.strip("| ").split(" | ") for line in printed("--markdown").splitlines() if line.startswith("| `")]

    assert len(rows) > 50
    for heading, *cells in rows:
        assert re.fullmatch(r"`[\w-]+`(: [^.]+)?", heading), f"{heading!r} is no phrase"
        for cell in cells:
            assert re.fullmatch(r"yes|no|only with `.+`|(Never|Not yet)\. \S.+\.", cell), f"{cell!r} of {heading}"


def test_every_system_is_listed() -> None:
    listed = ["bookkeeper", "cyclonedds", "kafka", "mosquitto", "pulsar", "rabbitmq", "rocketmq", "zenoh"]
    rows = [line for line in printed().splitlines()[1:] if not line.startswith(" ")]
    assert [line.split()[0] for line in rows] == listed
