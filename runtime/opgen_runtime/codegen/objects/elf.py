"""The undefined symbols of an ELF object, read from its symbol table.

Layout: System V ABI, "Object Files" (64-bit little-endian, which all of LLVM's JIT targets on Linux are).
"""

from __future__ import annotations

import struct
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
