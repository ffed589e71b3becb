"""Small class files and jars, as a Java compiler would make them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_STATIC = 0x0008


def class_file(strings: Sequence[str] = (), fields: Sequence[str] = (), statics: Sequence[str] = ()) -> bytes:
    """Return a class with these text constants, fields and static fields; it also has a constant of two places."""
    texts = ["Names", "java/lang/Object", "I", "Deprecated", *strings, *fields, *statics]
    index = {text: number for number, text in reversed(list(enumerate(texts, 1)))}
    long = len(texts) + 1
    this, parent, first = long + 2, long + 3, long + 4
    pool = b"".join(b"\x01" + struct.pack(">H", len(text)) + text.encode() for text in texts)
    pool += b"\x05" + struct.pack(">q", 7)
    pool += b"".join(b"\x07" + struct.pack(">H", number) for number in (1, 2))
    pool += b"".join(b"\x08" + struct.pack(">H", index[text]) for text in strings)
    members = [(0, name) for name in fields] + [(_STATIC, name) for name in statics]
    listed = b"".join(
        struct.pack(">4H", access, index[name], index["I"], 1) + struct.pack(">HI", index["Deprecated"], 0)
        for access, name in members
    )
    head = struct.pack(">I3H", 0xCAFEBABE, 0, 61, first + len(strings))
    return head + pool + struct.pack(">5H", 0x21, this, parent, 0, len(members)) + listed + struct.pack(">HH", 0, 0)


def jar(path: Path, content: Mapping[str, bytes]) -> None:
    """Write a jar with these classes, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as written:
        for name, data in content.items():
            written.writestr(f"{name}.class", data)
