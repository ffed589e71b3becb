"""Reads class files in jars without a JVM: the text constants of a class, its fields and its superclass.

`static final` strings that the compiler can compute are among the constants, also those that are concatenated.
Format: The Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_MAGIC = 0xCAFEBABE
_UTF8, _LONG, _DOUBLE, _CLASS, _STRING = 1, 5, 6, 7, 8
_SIZES = {3: 4, 4: 4, _LONG: 8, _DOUBLE: 8, _CLASS: 2, _STRING: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4,
          18: 4, 19: 2, 20: 2}  # fmt: skip
"""Size of each type of constant but texts, by its tag."""

_STATIC = 0x0008


@dataclass(frozen=True, slots=True)
class JavaClass:
    """What a class file says about names.

    Attributes:
        strings: its text constants.
        fields: names of its own fields that are not static.
        parent: its superclass, such as `java/lang/Object`.
    """

    strings: frozenset[str]
    fields: frozenset[str]
    parent: str


def read(content: bytes) -> JavaClass:
    """Parse a class file.

    Raises:
        ValueError: it is none.
    """
    if len(content) < 10 or struct.unpack_from(">I", content)[0] != _MAGIC:
        raise ValueError("not a Java class file")
    texts, references, place = _constants(content)
    _, _, parent, interfaces = struct.unpack_from(">4H", content, place)
    return JavaClass(
        strings=frozenset(texts[index] for tag, index in references.values() if tag == _STRING),
        fields=frozenset(_fields(content, place + 8 + 2 * interfaces, texts)),
        parent=texts[references[parent][1]] if parent else "",
    )


def classes(folder: Path, jars: Sequence[str], wanted: str, containing: str = "") -> Iterator[tuple[str, JavaClass]]:
    """Yield the classes of some jars by name, such as `kafka/server/KafkaConfig`.

    Args:
        folder: folder of the jars.
        jars: shell patterns of their names.
        wanted: regular expression for the whole name of a class.
        containing: a text that the file of the class has somewhere.
    """
    pattern = re.compile(rf"({wanted})\.class")
    for path in sorted({path for jar in jars for path in folder.glob(jar)}):
        with zipfile.ZipFile(path) as jar:
            for name in filter(pattern.fullmatch, jar.namelist()):
                if containing.encode() in (content := jar.read(name)):
                    yield name.removesuffix(".class"), read(content)


def _constants(content: bytes) -> tuple[dict[int, str], dict[int, tuple[int, int]], int]:
    """Return the texts and the references of the constant pool by index, and the place of what follows it."""
    texts: dict[int, str] = {}
    references: dict[int, tuple[int, int]] = {}
    index, place = 1, 10
    count = struct.unpack_from(">H", content, 8)[0]
    while index < count:
        tag = content[place]
        if tag == _UTF8:
            size = 2 + struct.unpack_from(">H", content, place + 1)[0]
            texts[index] = content[place + 3 : place + 1 + size].decode(errors="replace")
        else:
            size = _SIZES[tag]
            if tag in (_CLASS, _STRING):
                references[index] = (tag, struct.unpack_from(">H", content, place + 1)[0])
        place += 1 + size
        index += 2 if tag in (_LONG, _DOUBLE) else 1
    return texts, references, place


def _fields(content: bytes, place: int, texts: dict[int, str]) -> Iterator[str]:
    (count,) = struct.unpack_from(">H", content, place)
    place += 2
    for _ in range(count):
        access, name, _, attributes = struct.unpack_from(">4H", content, place)
        place += 8
        for _ in range(attributes):
            place += 6 + struct.unpack_from(">I", content, place + 2)[0]
        if not access & _STATIC:
            yield texts[name]
