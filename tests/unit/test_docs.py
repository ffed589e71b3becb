"""What the docs count is what is installed, and their prose is wrapped."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest

from chaoskit import pytest_plugin
from chaoskit.base import plugins, yaml
from chaoskit.contract import installed
from chaoskit.model.observations.subscription import SUBSCRIPTION_TYPES
from chaoskit.scenario.files import find, find_all, find_sweep

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")} | {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))
}
WIDTH = 100
_SPELLED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = rf"(?:\d[\d,]*|{'|'.join(_SPELLED[1:])})"
_NOUNS = (
    "anomalies|causes|checkers|data models|families|kinds|options|packages|powers|scenarios|sweeps|systems|verbs|"
    "workloads"
)


def content(sweep: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(find_sweep(f"sweeps/{sweep}").read_text(encoding="utf-8"))
    return loaded


def scenarios_of(sweep: str) -> int:
    return len(find_all(content(sweep)["scenarios"]))


def runs_of(sweep: str) -> int:
    loaded = content(sweep)
    seeds: int = loaded.get("seeds", 1)
    return seeds * prod(len(axis) for axis in loaded["axes"].values())


def mix() -> list[str | dict[str, Any]]:
    drawn: list[str | dict[str, Any]] = find("kafka/mix:strong")[0].content["faults"][0]["inject"]
    return drawn


def kinds_of_mix() -> int:
    return len({entry if isinstance(entry, str) else next(iter(entry)) for entry in mix()})


def packages() -> int:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return len(tomllib.load(file)["tool"]["importlinter"]["root_packages"])


def options_of_pytest() -> int:
    return len(re.findall(r'addoption\(\s*"--chaos-', Path(pytest_plugin.__file__).read_text(encoding="utf-8")))


def nightly(subject: str) -> int:
    """Return how many examples of a property of damage `make nightly` tries."""
    text = (ROOT / "tests" / "unit" / "mutants" / "test_mutants.py").read_text(encoding="utf-8")
    counts = re.findall(rf"nightly=(\d+)\)\n@given.*\ndef test_a_{subject}_with_mistakes", text)
    return int(counts[0])


COUNTS: list[tuple[str, str, Callable[[], int]]] = [
    ("README.md", "{} anomalies", lambda: len(installed.anomalies())),
    ("README.md", "{} kinds of faults", lambda: len(plugins.names("nemesis"))),
    ("CONTRIBUTING.md", "all {} packages", packages),
    ("CONTRIBUTING.md", "{} scenarios, ", lambda: nightly("scenario")),
    ("CONTRIBUTING.md", "scenarios, {} histories", lambda: nightly("history")),
    ("docs/composition.md", "{} entries of", lambda: len(mix())),
    ("docs/composition.md", "entries of {} kinds", kinds_of_mix),
    ("docs/durability.md", "{} kinds of faults", kinds_of_mix),
    ("docs/expectations.md", "expectations-kafka # {} scenarios", lambda: scenarios_of("expectations-kafka")),
    ("docs/expectations.md", "expectations-pulsar # {} scenarios", lambda: scenarios_of("expectations-pulsar")),
    ("docs/pulsar.md", "all {} types", lambda: len(SUBSCRIPTION_TYPES)),
    ("docs/pytest.md", "{} options", options_of_pytest),
    ("docs/sweep.md", "3 faults: {} runs", lambda: runs_of("cost-kafka")),
    ("docs/sweep.md", "and streams: {} runs", lambda: runs_of("cost-rabbitmq")),
]
"""Page, what it says around a count (spaces stand for any white space), and what the program says."""

MEASURED = {
    "docs/analysis.md": ["4 checkers"],
}
"""Counts of what was installed when something was measured."""


def number(written: str) -> int:
    return _SPELLED.index(written) + 1 if written in _SPELLED else int(written.replace(",", ""))


def counted(page: str, words: str) -> list[str]:
    before, after = (re.escape(part).replace(r"\ ", r"\s+") for part in words.split("{}"))
    return re.findall(rf"\b{before}({_NUMBER}){after}\b" if before else rf"\b({_NUMBER}){after}\b", PAGES[page])


@pytest.mark.parametrize(("page", "words", "count"), COUNTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_count_is_what_is_installed(page: str, words: str, count: Callable[[], int]) -> None:
    said, right = counted(page, words), count()

    assert said, f"{page} no longer says {words!r}: change COUNTS"
    assert {number(word) for word in said} == {right}, f"{page}: {words.format(said[0])!r} must be {right}"


def test_no_count_is_held_by_nobody() -> None:
    """A number of things that may be installed has a line in COUNTS, or was measured."""
    held = {page: [re.sub(r".*?(\{\} \w+).*", r"\1", words) for at, words, _ in COUNTS if at == page] for page in PAGES}
    free = [
        f"{page}: {match[0]}"
        for page, text in PAGES.items()
        if page != "CHANGELOG.md"
        for match in re.finditer(rf"\b{_NUMBER}\s+(?:{_NOUNS})\b", text)
        if re.sub(rf"^{_NUMBER}\s+", "{} ", match[0]) not in held[page]
        and " ".join(match[0].split()) not in MEASURED.get(page, [])
    ]

    assert free == [], "add them to COUNTS or MEASURED"


@pytest.mark.parametrize("family", sorted({installed.nemesis(kind).family for kind in plugins.names("nemesis")}))
def test_a_family_is_listed_with_all_its_kinds(family: str) -> None:
    listed = re.search(rf"^- \[{family}\]\(.*?\): ((?:.|\n  )*)", PAGES["docs/nemeses.md"], re.MULTILINE)
    kinds = {kind for kind in plugins.names("nemesis") if installed.nemesis(kind).family == family}

    assert listed is not None
    assert set(re.findall(r"`([a-z-]+)`", listed[1])) == kinds


@pytest.mark.parametrize("name", installed.anomalies())
def test_an_anomaly_is_described(name: str) -> None:
    assert f"`{name}`" in PAGES["docs/anomalies.md"]


@pytest.mark.parametrize("system", plugins.names("cluster"))
def test_a_release_is_named_as_tested(system: str) -> None:
    release = installed.system(system, "system").options().version  # type: ignore[attr-defined]
    rows = re.findall(r"^\| (?:Apache )?([\w ]+) \|(.*)$", PAGES["README.md"], re.MULTILINE)
    (versions,) = (row for name, row in rows if name.replace(" ", "").lower() == system)

    assert release in versions.partition("tested: ")[2], f"README.md: {system} is tested with {release}"


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = (line.lstrip("# ") for _, line in prose(text) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    wrong = []
    for link in re.findall(r"\]\((?!https?:)([^()\s]+)\)", PAGES[page]):
        name, _, anchor = link.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text(encoding="utf-8"))):
            wrong.append(link)

    assert wrong == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_modules_and_files_exist(page: str) -> None:
    """A module or file in code, such as `chaoskit.base.plugins` or `tests/machine.py`, exists."""
    named = re.findall(
        r"`((?:chaoskit|nemeses|checkers|workloads|clusters|spark_analysis)(?:\.[a-z_]+){2,})[`.]", PAGES[page]
    )
    paths = re.findall(
        r"`((?:chaoskit|nemeses|checkers|workloads|clusters|tests|benchmarks)/[\w/]+\.\w+)`", PAGES[page]
    )

    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [name for name in named if not _exists(name)] == []


def _exists(name: str) -> bool:
    """Return whether there is a module of this name, or a module with an attribute of it."""
    path = ROOT / name.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    return path.parent.with_suffix(".py").is_file() and path.name in path.parent.with_suffix(".py").read_text()


STRANGERS = ROOT / "tests" / "integration" / "stranger"
SHOWN: list[tuple[str, str]] = re.findall(
    r"^```(?:python|yaml)\n# (\S+\.(?:py|yaml))\n(.*?)^```", PAGES["docs/extending.md"], re.M | re.S
)


@pytest.mark.parametrize(("name", "code"), SHOWN)
def test_the_code_that_is_shown_is_that_of_a_stranger(name: str, code: str) -> None:
    """A block that begins with a file's name has pieces of that file, in their order; `...` stands for others."""
    pieces = [piece.strip("\n") for piece in re.split(r"^ *\.\.\.\n", code, flags=re.M)]
    pattern = re.compile(".*".join(rf"^{re.escape(piece)}$" for piece in pieces if piece), re.M | re.S)
    files = [*STRANGERS.glob(f"*/{name}")]

    assert [path for path in files if pattern.search(path.read_text())], f"no stranger's {name} has this"


def test_the_names_of_the_guide_exist() -> None:
    """A class that the guide to plug-ins names is one of the engine's, or of a stranger."""
    sources = [*(ROOT / "chaoskit").rglob("*.py"), *STRANGERS.rglob("*.py")]
    known = set(re.findall(r"^(?:class )?([A-Z]\w+)\b", "\n".join(path.read_text() for path in sources), re.M))
    named = set(re.findall(r"`(?:\w+\.)*([A-Z]\w*[a-z]\w*)(?:\([^`]*\))?`", PAGES["docs/extending.md"]))

    assert named - known - {"True", "False"} == set()


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, with their numbers, that are neither in a table nor in a block of code."""
    fenced = False
    for line_number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if not fence and not fenced and not line.lstrip().startswith("|"):
            yield line_number, line


def breakable(line: str) -> bool:
    """Return whether a line could be broken at a space that is not in code, after its mark of a list."""
    text = re.sub(r"^\s*(?:[-*+]|\d+[.)]|#+|>)?\s*", "", line)
    return " " in re.sub(r"`[^`]*`", "code", text).strip()


def too_long(text: str) -> list[tuple[int, int]]:
    return [(at, len(line)) for at, line in prose(text) if len(line) > WIDTH and breakable(line)]


def test_prose_is_wrapped() -> None:
    long_lines = {page: lines for page, text in PAGES.items() if (lines := too_long(text))}

    assert long_lines == {}, f"(line, length): wrap them at {WIDTH} characters"


LONG = "word " * 25


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (LONG, True),
        (f"- {LONG}", True),
        (f"| {LONG} |", False),
        (f"```\n{LONG}\n```", False),
        (f"```\ncode\n```\n{LONG}", True),
        (f"- [link](https://{'x' * 120})", False),
        (f"`{LONG}`", False),
    ],
)
def test_what_must_be_wrapped(text: str, seen: bool) -> None:
    assert bool(too_long(text)) is seen
