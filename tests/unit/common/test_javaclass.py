"""What a class file says about names is read without Java."""

from __future__ import annotations

from pathlib import Path

import pytest
from classfile import class_file, jar

from clusters.common.javaclass import classes, read


def test_texts_fields_and_superclass_are_read() -> None:
    contents = read(class_file(strings=["log.dirs", "node.id"], fields=["maxSize"], statics=["LOG"]))

    assert contents.strings == {"log.dirs", "node.id"}
    assert contents.fields == {"maxSize"}
    assert contents.parent == "java/lang/Object"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 is a zip file", b"\xca\xfe"])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a Java class file"):
        read(content)


def test_classes_are_chosen_by_jar_name_and_content(tmp_path: Path) -> None:
    jar(tmp_path / "kafka-1.jar", {"a/Config": class_file(["x.y"]), "a/Other": class_file(["x.y"])})
    jar(tmp_path / "kafka-2.jar", {"b/Config": class_file(["z"])})
    jar(tmp_path / "log4j.jar", {"c/Config": class_file(["x.y"])})

    assert [name for name, _ in classes(tmp_path, ["kafka*.jar"], r"\w/Config")] == ["a/Config", "b/Config"]
    assert [name for name, _ in classes(tmp_path, ["kafka*.jar"], r"\w/Config", "x.")] == ["a/Config"]
