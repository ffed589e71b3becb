"""Nothing in this repository syncs all file systems of the machine: that would save what others' power cuts lose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PARTS = ("chaoskit", "clusters", "nemeses", "workloads", "checkers", "spark_analysis", "tests", "benchmarks", "setup")
_IN_SHELL = re.compile(r"(?:[;&|(`\n]|\b(?:do|then|else|sudo|if)\b)[ \t]*sync[ \t]*(?:[;&|)`\n]|$)|^sync[ \t]*[;&|\n]")
_IN_PYTHON = re.compile(r"\bos\s*\.\s*sync\s*\(")


def syncs_of_python(text: str) -> Iterator[str]:
    """Yield what syncs everything in Python source: calls, commands as lists, and shell or Python in strings."""
    tree = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="sync"):
                yield "os.sync"
            case (
                ast.List(elts=[ast.Constant(value="sync"), *rest]) | ast.Tuple(elts=[ast.Constant(value="sync"), *rest])
            ) if not any(_names_a_file(argument) for argument in rest):
                yield ast.unparse(node)
            case ast.Constant(value=str(content)) if id(node) not in prose and (
                _IN_SHELL.search(content) or _IN_PYTHON.search(content)
            ):
                yield content


def _names_a_file(word: ast.expr) -> bool:
    return not (isinstance(word, ast.Constant) and str(word.value).startswith("-"))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.sync()",
        "from os import path\nimport os as o, os\nf = os.sync",
        "host.run(['sync'])",
        "host.run(('sync', '--data'))",
        "host.run(['sh', '-c', 'echo x > /data/x; sync'])",
        "host.run(['sh', '-c', 'sync && true'])",
        "CODE = 'import os; os.sync(); print(1)'",
        "SCRIPT = '''\nwhile true; do sync; done\n'''",
    ],
)
def test_a_sync_of_everything_is_found(source: str) -> None:
    assert list(syncs_of_python(source))


@pytest.mark.parametrize(
    "source",
    [
        "'''Words; sync'''",
        "host.run(['sync', '/data'])",
        "host.run(['sync', '-f', path])",
        "host.run(['sync', *paths])",
        "host.run(['sh', '-c', 'echo x; sync /data/x; true'])",
        "durable.sync(path)",
        "patch(durable, 'sync')",
        "summary = 'waits until all replicas are in sync'",
    ],
)
def test_a_sync_of_a_file_and_words_are_none(source: str) -> None:
    assert not list(syncs_of_python(source))


def test_nothing_here_syncs_more_than_its_own_file_systems() -> None:
    python = [path for part in _PARTS for path in (ROOT / part).rglob("*.py") if path != Path(__file__)]
    shell = [path for part in _PARTS for path in (ROOT / part).rglob("*.sh")]
    shell += [ROOT / "Makefile", *(path for path in (ROOT / "setup").iterdir() if path.is_file())]

    syncs = {str(path.relative_to(ROOT)): list(syncs_of_python(path.read_text())) for path in python}
    syncs |= {str(path.relative_to(ROOT)): _IN_SHELL.findall(path.read_text()) for path in shell}

    assert len(python) > 500
    assert {name: syncs for name, syncs in syncs.items() if syncs} == {}
