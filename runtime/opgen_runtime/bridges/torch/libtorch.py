"""The functions of libtorch that native kernels need, by address; each is looked up before any is used."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import torch

from ...base.vocabulary import dataclass
from .handler_text import RAISE, TORCH_FUNCTIONS

FLOOR: Final = (2, 13)
"""The first version of torch that has all functions; torch's values are read and written as it does."""
ABI: Final = FLOOR[0] << 56 | FLOOR[1] << 48
_REGISTERING: Final = ("aoti_torch_library_init_impl", "torch_library_impl")


@dataclass(frozen=True, slots=True)
class Libtorch:
    """`addresses`: of what the handler's text imports; `missing`: why there are no native kernels, or ""."""

    addresses: Mapping[str, int]
    missing: str
    library: ctypes.CDLL | None = None

    def implement(self, namespace: str, name: str, key: str, kernel: int) -> None:
        """Register a boxed kernel for an op that is defined.  Raises RuntimeError where torch refuses it."""
        assert self.library is not None
        handle = ctypes.c_void_p()
        init, impl = self.library.aoti_torch_library_init_impl, self.library.torch_library_impl
        init.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p]
        impl.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64]
        code = init(namespace.encode(), key.encode(), b"opgen", 0, ctypes.byref(handle))
        code = code or impl(handle, name.encode(), kernel, ABI)
        if code:
            raise RuntimeError(f"torch refused a kernel for {namespace}::{name} at {key}")


@lru_cache(maxsize=1)
def libtorch() -> Libtorch:
    """The libraries of the torch that is imported."""
    folder = Path(torch.__file__).parent / "lib"
    try:
        cpu, c10 = (ctypes.CDLL(str(folder / f"lib{name}.so")) for name in ("torch_cpu", "c10"))
    except OSError as error:
        return Libtorch({}, f"torch's libraries are not found: {error}")
    found: dict[str, int] = {}
    for library, names in ((cpu, (*TORCH_FUNCTIONS, *_REGISTERING)), (c10, (RAISE,))):
        for name in names:
            function = getattr(library, name, None)
            if function is None:
                version = ".".join(map(str, FLOOR))
                return Libtorch(
                    {}, f"torch {torch.__version__} has no {name}, as torch {version} and later do"
                )
            found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return Libtorch(found, "", cpu)
