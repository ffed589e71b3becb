"""The EDN reader, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.interop.jepsen.edn import end_of_form, read_all, write
from chaoskit.interop.jepsen.importing import import_edn

INVOKE = "{:index 0, :time 1, :type :invoke, :process 0, :f :send, :value [[:send 5 1]]}\n"
OK = "{:index 1, :time 2, :type :ok, :process 0, :f :send, :value [[:send 5 [0 1]]]}\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('"a\\"b\\n"', 'a"b\n'),
        ("#{1 2}", [1, 2]),
        ("(1 -2 3N)", [1, -2, 3]),
        ("#inst 5", 5),
        ("#_ignored {:a/b nil} ; comment", {"a/b": None}),
        ("[true false \\a 1.5]", [True, False, "\\a", 1.5]),
        ("#jepsen.history.Op{:f :send}", {"f": "send"}),
    ],
)
def test_edn_is_read(text: str, form: object) -> None:
    assert list(read_all(text)) == [form]


def test_edn_is_written_as_it_was_read() -> None:
    text = '{:a [1 nil true false "x\\"y"], "k" {:b 2}}'

    assert [write(form) for form in read_all(text)] == [text]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (INVOKE + OK[:-2], 2, "unbalanced"),
        (INVOKE + OK.replace(":ok", ":okay"), 2, "unknown :type :okay"),
        (INVOKE + OK.replace(":f :send", ":f :read"), 2, "unknown :f :read"),
        (OK, 1, "completion without an invocation"),
        (INVOKE + OK + OK, 3, "completion without an invocation"),
        (INVOKE + INVOKE, 2, "invokes an operation before the last one of its process completed"),
        (INVOKE + OK.replace("[[:send 5 [0 1]]]", "[[:append 5 1]]"), 2, "not a micro-operation"),
        (INVOKE + OK.replace("[[:send 5 [0 1]]]", "7"), 2, "is not a vector"),
        (INVOKE + OK.replace(":time 2, ", ""), 2, "has no :time"),
        (INVOKE + OK.replace(":f :send", ":f :poll"), 2, "completes a different operation as :poll"),
        (
            INVOKE.replace(":process 0", f":process {2**31}"),
            1,
            f":process {2**31} is too large; the highest is 4194303",
        ),
        (INVOKE + OK.replace(":time 2", f":time {2**70}"), 2, f":time {2**70} is too large"),
        ("7\n", 1, "is not an operation"),
        (INVOKE.replace(":time 1", f":time {-(2**70)}"), 1, f":time -{2**70} is too small"),
        (INVOKE + OK.replace("[0 1]", f"[{10**26} 1]"), 2, f"the offset {10**26} is too large"),
        (INVOKE + OK.replace("[0 1]", f"[{'7' * 5_000} 1]"), 2, "an integer of 5,000 digits"),
        (INVOKE.replace("5 1", f'"{"k" * 100_000}/0" 1'), 1, "k... has 100,004 characters; at most 1,000 are read"),
        ("[" * 10_000 + "]" * 10_000 + "\n", 1, "nested more than 100 deep"),
        (INVOKE + OK.replace("[[:send 5 [0 1]]]", "[" * 20_000 + "]" * 20_000), 2, "nested more than 100 deep"),
        ("#_ " * 10_000 + "\n" + INVOKE, 1, "nested more than 100 deep"),
        ("#a " * 10_000 + INVOKE, 1, "nested more than 100 deep"),
        (INVOKE + "]\n", 2, "unbalanced"),
        (INVOKE + '{:a "b\n', 2, "unbalanced"),
    ],
)
def test_what_is_no_history_is_refused_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "bad.edn"
    path.write_text(text)

    with pytest.raises(BadInput, match=f"bad.edn, line {line}: .*{reason}"):
        import_edn(path, tmp_path / "store")

    assert list((tmp_path / "store").glob("*/*/scenario.yaml")) == []


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.edn"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(BadInput, match="line 1: not UTF-8"):
        import_edn(path, tmp_path / "store")


@pytest.mark.parametrize(
    "text", ["{:a [1\n2]}", '{:a "}\n ]" ; )\n}', '{:a \\{ ; }\n"\\"" 1}', '"one\ntwo\\"\nthree"', "; {\n"]
)
def test_a_form_ends_where_all_is_closed(text: str) -> None:
    data = text.encode()

    assert [end_of_form(data[:size], 0) for size in range(len(data))] == [0] * len(data)
    assert end_of_form(data + b" {}", 0) == len(text.rstrip())


def test_what_is_never_closed_is_not_read_again_with_every_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(text: str) -> Iterator[object]:
        parsed.append(text)
        return read_all(text)

    monkeypatch.setattr("chaoskit.interop.jepsen.lines.read_all", counted)
    path = tmp_path / "bad.edn"
    path.write_text(INVOKE + OK[:-2] + "\n" + INVOKE * 500)

    with pytest.raises(BadInput, match=r"bad\.edn, line 2: unbalanced"):
        import_edn(path, tmp_path / "store")
    assert len(parsed) < 5
