"""Rules of the whole repository."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from chaoskit.cli.main import VERBS

ROOT = Path(__file__).parents[2]
LINES_MAX = 400
FUNCTION_LINES_MAX = 60
IMPORTS_MAX = 22
_PARTS = ("chaoskit", "clusters", "nemeses", "workloads", "checkers", "spark_analysis", "tests", "benchmarks")

_OURS = _PARTS[:-2]

_SYSTEM = re.compile(
    r"kafka|kraft|confluent|librdkafka|pulsar|bookkeeper|bookie|zookeeper|rabbit|\bpika\b|amqp|rocketmq|mosquitto|mqtt|paho|"
    r"cyclone|\bdds\b",
    re.I,
)
_EXAMPLE = re.compile(r"Jepsen|Kafka workload|kafka/|kafka-\*|\"kafka\"|'kafka, min")
"""What names one all the same: Jepsen's workload, and examples of scenarios."""

_TRACKED = subprocess.run(
    ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, capture_output=True, text=True, check=False,
).stdout.split("\0")  # fmt: skip
FILES = [ROOT / name for name in _TRACKED if name and (ROOT / name).is_file()]


@pytest.mark.skipif(not FILES, reason="not a git checkout")
def test_the_files_of_the_repository_are_seen() -> None:
    assert {"pyproject.toml", "chaoskit/run/site.py"} <= {str(path.relative_to(ROOT)) for path in FILES}


def test_imports_point_one_way() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Contracts: [1-9]\d* kept, 0 broken", done.stdout)


def test_no_system_is_named_outside_clusters() -> None:
    folders = ("chaoskit", "nemeses", "checkers", "workloads", "spark_analysis")
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        if path.suffix in (".py", ".c", ".h") and path.relative_to(ROOT).parts[0] in folders
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _SYSTEM.search(line) and not _EXAMPLE.search(line)
    ]

    assert named == []


def test_files_are_short() -> None:
    paths = [path for part in _PARTS for path in (ROOT / part).rglob("*.py")]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in paths}

    assert len(lines) > 100
    assert {name: count for name, count in lines.items() if count > LINES_MAX} == {}


def test_functions_are_short() -> None:
    functions = {
        f"{path.relative_to(ROOT)}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for part in _PARTS
        for path in (ROOT / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(functions) > 1000
    assert {name: count for name, count in functions.items() if count > FUNCTION_LINES_MAX} == {}


def test_no_module_imports_many_of_ours() -> None:
    imported = {
        str(path.relative_to(ROOT)): len(_imports(path)) for part in _OURS for path in (ROOT / part).rglob("*.py")
    }

    assert len(imported) > 500
    assert {name: count for name, count in imported.items() if count > IMPORTS_MAX} == {}


def _imports(path: Path) -> set[str]:
    """Return the modules of ours that a file imports."""
    names = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in _OURS
        for alias in node.names
    }
    return {name if _is_module(name) else name.rpartition(".")[0] for name in names}


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or path.is_dir()


def test_no_two_public_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for part in _OURS:
        for path in (ROOT / part).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))

    assert len(places) > 1000
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_verb_has_its_file() -> None:
    for verb in VERBS:
        command = import_module(f"chaoskit.cli.{verb}").command
        assert command.name == verb
        assert command.help


def test_files_of_the_command_line_are_verbs() -> None:
    files = {path.stem for path in (ROOT / "chaoskit" / "cli").glob("*.py")}

    assert files == {*VERBS, "main", "__init__"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("chaoskit.cli.main", ["pyarrow", "numpy", "pydantic", "rich", "ruamel", "networkx", "paramiko"]),
        (
            "chaoskit.pytest_plugin",
            ["pyarrow", "numpy", "confluent_kafka", "pydantic", "paramiko", "chaoskit.scenario.plan"],
        ),
        ("chaoskit.run.site", ["confluent_kafka", "paramiko", "pytest", "pyspark"]),
        ("chaoskit.run.worker", ["paramiko", "pytest", "pyspark"]),
    ],
)
def test_a_module_loads_only_what_it_needs(module: str, heavy: list[str]) -> None:
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def test_packages_come_from_wherever_a_machine_gets_them() -> None:
    """No file names a host of a package registry: machines behind a mirror have their own."""
    hosts = [
        ".".join(parts)
        for parts in (
            ("pypi", "org"),
            ("files", "pythonhosted", "org"),
            ("repo1", "maven", "org"),
            ("repo", "maven", "apache", "org"),
            ("registry", "npmjs", "org"),
            ("deb", "debian", "org"),
            ("archive", "ubuntu", "com"),
            ("archive", "apache", "org"),
            ("downloads", "apache", "org"),
            ("dlcdn", "apache", "org"),
        )
    ]
    named = [
        f"{path.relative_to(ROOT)}: {host}" for path in FILES for host in hosts if host.encode() in path.read_bytes()
    ]

    assert named == []


def test_test_files_have_different_names() -> None:
    """Those of strangers are in packages of their own."""
    paths = [path for path in (ROOT / "tests").rglob("*.py") if "stranger" not in path.parts]
    names = [path.name for path in paths if path.name not in ("conftest.py", "__init__.py")]

    assert sorted(set(names)) == sorted(names)
