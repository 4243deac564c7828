"""ELF objects: their undefined symbols, their symbols under other names, and data as an object.

Layout: System V ABI, "Object Files" (64-bit little-endian, which all of LLVM's JIT targets on Linux are).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

_SECTION_TABLE: Final = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION: Final = struct.Struct("<4xI16xQQI")  # sh_type, sh_offset, sh_size, sh_link
_SYMBOL: Final = struct.Struct("<IBBHQQ")  # st_name, st_info, st_other, st_shndx, st_value, st_size
_SYMBOL_TABLE: Final = 2
_UNDEFINED: Final = 0


def is_elf(object_code: bytes) -> bool:
    """Whether the bytes begin as a 64-bit little-endian ELF file."""
    return len(object_code) >= 64 and object_code[:6] == b"\x7fELF\x02\x01"


def undefined_symbols(object_code: bytes) -> tuple[str, ...]:
    """Names that the object needs from elsewhere.  Raises ValueError if the object is damaged."""
    try:
        return tuple(_undefined(object_code))
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise ValueError(f"damaged object: {error}") from error


def _undefined(code: bytes) -> list[str]:
    offset, entry_size, count, _ = _SECTION_TABLE.unpack_from(code)
    sections = [_SECTION.unpack_from(code, offset + k * entry_size) for k in range(count)]
    names: list[str] = []
    for kind, start, size, link in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[link][1]
        for name, _, _, section, _, _ in _SYMBOL.iter_unpack(code[start : start + size]):
            if name and section == _UNDEFINED:
                first = strings + name
                names.append(code[first : code.index(b"\0", first)].decode())
    return names


def renamed(object_code: bytes, names: Mapping[str, str]) -> bytes:
    """The object with other names for some of its symbols: a longer table of names goes to its end."""
    code = bytearray(object_code)
    offset, entry_size, count, _ = _SECTION_TABLE.unpack_from(code)
    headers = [offset + k * entry_size for k in range(count)]
    for header in headers:
        kind, start, size, link = _SECTION.unpack_from(code, header)
        if kind != _SYMBOL_TABLE:
            continue
        _, first, length, _ = _SECTION.unpack_from(code, headers[link])
        table = bytearray(code[first : first + length])
        for symbol in range(start, start + size, _SYMBOL.size):
            name = int.from_bytes(code[symbol : symbol + 4], "little")
            text = bytes(table[name : table.index(b"\0", name)]).decode()
            if name and text in names:
                code[symbol : symbol + 4] = len(table).to_bytes(4, "little")
                table += names[text].encode() + b"\0"
        place = struct.pack("<QQ", len(code), len(table))
        code[headers[link] + 24 : headers[link] + 40] = place  # sh_offset, sh_size
        code += table
    return bytes(code)


_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_FULL_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_ALIGNMENT: Final = 64


def data_object(like: bytes, arrays: Mapping[str, bytes]) -> bytes:
    """An object for the machine that `like` is for, with read-only data under global names, each at 64 bytes."""
    _, _, machine, version, _, _, _, flags, *_ = _HEADER.unpack_from(like)
    data, strings = bytearray(), bytearray(b"\0")
    symbols = bytearray(_SYMBOL.size)
    for name, content in arrays.items():
        data += b"\0" * (-len(data) % _ALIGNMENT)
        # global (1 << 4), an object (1), in section 1
        symbols += _SYMBOL.pack(len(strings), 1 << 4 | 1, 0, 1, len(data), len(content))
        strings += name.encode() + b"\0"
        data += content
    titles = b"\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"
    place = _HEADER.size
    rows = [bytes(_FULL_SECTION.size)]
    body = bytearray()

    def section(title: bytes, kind: int, flag: int, content: bytes, link: int, info: int, each: int) -> None:
        nonlocal body
        body += b"\0" * (-(place + len(body)) % _ALIGNMENT)
        at = place + len(body)
        row = (titles.index(title + b"\0"), kind, flag, 0, at, len(content), link, info, _ALIGNMENT, each)
        rows.append(_FULL_SECTION.pack(*row))
        body += content

    section(b".rodata", 1, 2, bytes(data), 0, 0, 0)
    section(b".symtab", _SYMBOL_TABLE, 0, bytes(symbols), 3, 1, _SYMBOL.size)
    section(b".strtab", 3, 0, bytes(strings), 0, 0, 0)
    section(b".shstrtab", 3, 0, titles, 0, 0, 0)
    section(b".note.GNU-stack", 1, 0, b"", 0, 0, 0)
    body += b"\0" * (-(place + len(body)) % 8)
    sizes = (_HEADER.size, 0, 0, _FULL_SECTION.size, len(rows), 4)
    head = _HEADER.pack(like[:16], 1, machine, version, 0, 0, place + len(body), flags, *sizes)
    return head + bytes(body) + b"".join(rows)
