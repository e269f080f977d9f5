"""The container: a zip file with a header at the front and a checksum at the end.

`header.json` can be read without touching the model. The other members are those of skops: a
`schema.json` that lists the objects, and the arrays. The checksum is the SHA-256 of all bytes
before it, stored as the zip's comment.

Note: the checksum detects damage, but does not protect against forged files: whoever changes a file
can compute it again. Even a signature would only show who made a file, not that it is harmless. So
everything in the file is checked as well.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from ..core.state import StateError

FORMAT = 2
HEADER, SCHEMA = "header.json", "schema.json"
MAX_MEMBERS = 200_000
MAX_HEADER_BYTES = 1 << 20
# Parsed JSON takes up to 30 times its size. A schema may have this share of `max_size` bytes, or
# LEAST_SCHEMA bytes if that is more.
SCHEMA_SHARE, LEAST_SCHEMA = 1 / 128, 1 << 20
# The largest number of brackets and commas, and thus of objects, per byte that JSON may have.
MAX_OBJECTS_PER_BYTE = 1 / 8
MEMBER_NAME = re.compile(r"header\.json|schema\.json|[0-9]{1,9}\.np[yz]")
MEMBER_REFERENCE = re.compile(r'"file": ?"([0-9]{1,9}\.np[yz])"')
_SEAL_LENGTH = 64
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(header: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """Write the header and the members of a model to one zip file, with its checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        head = json.dumps(header, indent=1).encode()
        for name, content in {HEADER: head, **members}.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
        archive.comment = b"0" * _SEAL_LENGTH
    return sealed(buffer.getvalue())


def sealed(data: bytes) -> bytes:
    """Return the file with the correct checksum at its end."""
    body = data[:-_SEAL_LENGTH]
    return body + hashlib.sha256(body).hexdigest().encode()


def read_header(data: bytes) -> dict[str, Any]:
    """Return the header of a model file."""
    with _open(data) as archive:
        return _header(archive, _infos(archive, MAX_MEMBERS))


def unpack(data: bytes, max_size: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the header and the members; refuse files that unpack to over `max_size` bytes."""
    with _open(data) as archive:
        infos = _infos(archive, MAX_MEMBERS)
        header = _header(archive, infos)
        refuse_newer(header)
        total = sum(info.file_size for info in infos.values())
        if total > max_size:
            raise StateError(
                "The file",
                f"unpacks to {total} bytes, more than max_size={max_size}; pass a larger max_size "
                "to load if you expected a model of this size",
            )
        if SCHEMA not in infos:
            raise StateError("The file", "has no schema")
        most = max(LEAST_SCHEMA, SCHEMA_SHARE * max_size)
        if infos[SCHEMA].file_size > most:
            raise StateError(
                "The file",
                f"has a schema of {infos[SCHEMA].file_size} bytes, too many for max_size="
                f"{max_size}; pass a larger max_size to load if you expected a model with very "
                "many objects",
            )
        schema = read_member(archive, infos[SCHEMA])
        _refuse_many_objects(schema, "The schema", most)
        # Members that nothing refers to are refused before they are unpacked.
        wanted = set(MEMBER_REFERENCE.findall(schema.decode(errors="replace")))
        unused = set(infos) - wanted - {HEADER, SCHEMA}
        if unused:
            raise StateError(f"The member {min(unused)!r}", "belongs to no part of the model")
        members = {name: read_member(archive, infos[name]) for name in infos if name in wanted}
    return header, {SCHEMA: schema, **members}


def refuse_newer(header: Mapping[str, Any]) -> None:
    """Refuse a format that this version of the library does not know."""
    number = header.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise StateError("The header", f"has the invalid format number {number!r:.50}")
    if number > FORMAT:
        raise StateError(
            "The file",
            f"has format {number}, written by polychotomy {header.get('polychotomy')!s:.50}; this "
            f"version reads formats up to {FORMAT}. Upgrade polychotomy to load it",
        )


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read one member, never more than its declared size; zipfile checks its CRC."""
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise StateError(info.filename, "does not have its declared length")
    return content


def plain_zip(members: Mapping[str, bytes]) -> bytes:
    """Return checked members as a new zip file, without anything else from the old one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def json_object(content: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object."""
    parsed = json.loads(content)
    if not isinstance(parsed, dict):
        raise StateError(where, "is not a JSON object")
    return parsed


def _open(data: bytes) -> zipfile.ZipFile:
    if not data.startswith(b"PK"):
        raise StateError("The file", "is not a polychotomy model file")
    if data != sealed(data):
        raise StateError("The file", "is damaged or incomplete: its checksum does not match")
    return zipfile.ZipFile(io.BytesIO(data))


def _infos(archive: zipfile.ZipFile, most: int) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    infos = {info.filename: info for info in listed}
    if len(listed) > most or len(infos) != len(listed):
        raise StateError("The file", "has too many members, or two of the same name")
    for name, info in infos.items():
        ordinary = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not MEMBER_NAME.fullmatch(name) or not ordinary or info.flag_bits & 0x1:
            raise StateError(f"The member {name!r:.60}", "does not belong in a model file")
    return infos


def _header(archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    if HEADER not in infos or infos[HEADER].file_size > MAX_HEADER_BYTES:
        raise StateError("The file", "has no header, or one that is too large")
    content = read_member(archive, infos[HEADER])
    _refuse_many_objects(content, "The header", MAX_HEADER_BYTES)
    return json_object(content, "The header")


def _refuse_many_objects(content: bytes, where: str, most: float) -> None:
    """Refuse JSON with too many objects for `most` bytes, before it is parsed."""
    n_objects = sum(map(content.count, (b"[", b"{", b",")))
    if n_objects > MAX_OBJECTS_PER_BYTE * most:
        raise StateError(where, "has more objects than a model should have")
