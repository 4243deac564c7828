"""How long `opgen generate` takes for a project of thousands of ops, and for the library's own.

    python benchmarks/generate.py --torchgen FOLDER [--python PYTHON] [--ops 2500] [--jobs 2]

FOLDER holds PyTorch's package `torchgen` (unpacked from a wheel of torch); PYTHON is a Python in which it can be
imported (it needs PyYAML and typing_extensions).  The declarations are made from the signatures that torchgen ships:

- An operand without a known shape is of any shape; the result has the first operand's, or none, and a hand-written type
  relation decides.  The compute is the element function of that name where the language has one, else a hand-written
  function.
- An in-place variant is declared as the function that gives the new value, an `out=` variant without its destination.
- Arguments that say where a result is kept (device, layout, pin_memory, memory format, generator) are left out.
- What the language has no word for (names of dims, storages, streams, lists of bools or of optional tensors) is refused
  and counted, with the reason.

Times are processor time of all processes together, and wall time; torchgen runs before and after, so that both meet
the same machine.  Both run from bytecode, as installed packages do: it is made first, in a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opgen.document.fields import OP_NAME
from opgen.expression.vocabulary import why_reserved

ROOT = Path(__file__).resolve().parent.parent
PLACES = {"Device", "Layout", "MemoryFormat", "Generator", "DeviceIndex"}
KINDS = {
    "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "Scalar": "number", "str": "str",
    "ScalarType": "dtype", "int[]": "ints", "SymInt[]": "ints", "float[]": "floats",
}  # fmt: skip
ELEMENTWISE = {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor",
    "log", "log10", "log1p", "log2", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
}  # fmt: skip

# Run by PYTHON: one line of JSON for each entry of native_functions.yaml.
READER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from torchgen.gen import parse_native_yaml
native = sys.argv[1] + "/torchgen/packaged/ATen/native/"
for f in parse_native_yaml(native + "native_functions.yaml", native + "tags.yaml").native_functions:
    arguments = [[a.name, str(a.type), a.default, a.annotation is not None and a.annotation.is_write]
                 for a in f.func.arguments.flat_non_out]
    returns = [str(r.type) for r in f.func.returns]
    print(json.dumps([f.func.name.name.base, f.func.name.name.inplace, f.func.name.overload_name, arguments, returns]))
"""


class Refused(Exception):
    """The signature cannot be declared; the message says why."""


@dataclass(frozen=True)
class Taken:
    """How long something took, in seconds."""

    processor: float
    wall: float

    def __str__(self) -> str:
        return f"{self.processor:7.2f} s processor, {self.wall:7.2f} s wall"


def with_bytecode(folder: Path, *sources: str | Path) -> dict[str, str]:
    """The environment in which Python finds the bytecode of `sources`, which is made here, below `folder`."""
    environment = {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "compileall", "-q", *map(str, sources)]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    return environment


def timed(command: Sequence[str], folder: Path, **environment: str) -> Taken:
    """Run a command to its end; its processor time is that of its children, too."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return Taken(
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - started
    )


def declarations(entries: Iterator[list[Any]], most: int, refused: Counter[str]) -> dict[str, dict[str, Any]]:
    """The first `most` signatures that can be declared, by op name."""
    found: dict[str, dict[str, Any]] = {}
    for base, inplace, overload, arguments, returns in entries:
        if len(found) == most:
            break
        name = op_name(base, inplace, overload)
        try:
            found[name if name not in found else f"{name}_{len(found)}"] = declaration(
                base, arguments, returns
            )
        except Refused as reason:
            refused[str(reason)] += 1
    return found


def op_name(base: str, inplace: bool, overload: str) -> str:
    parts = ["private" + base if base.startswith("_") else base, *(["inplace"] if inplace else []), overload]
    name = "_".join(part for part in parts if part).lower()
    return name if OP_NAME.match(name) and why_reserved(name) is None else f"op_{name}"


def declaration(base: str, arguments: list[list[Any]], returns: list[str]) -> dict[str, Any]:
    """One declaration, without its name.  Raises Refused."""
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    for name, kind, default, _ in arguments:
        plain = kind.removesuffix("?")
        place = plain in PLACES or name == "pin_memory"
        label = name.lower()
        if label in ("self", "out", "result", "attrs") or why_reserved(label, not plain.startswith("Tensor")):
            label += "_"
        label = label.rstrip("_") + "_value" if label.endswith("_") else label
        if place:
            continue
        if plain in ("Tensor", "Tensor[]"):
            inputs[label] = {"dtype": "any"}
            if kind.endswith("?"):
                inputs[label]["optional"] = "true"
            if plain == "Tensor[]":
                inputs[label]["variadic"] = "true"
            continue
        if not plain.startswith("bool["):
            plain = plain.split("[")[0] + "[]" if "[" in plain else plain
        if plain not in KINDS:
            raise Refused(f"an argument of type {plain}")
        attrs[label] = attr(KINDS[plain], default, kind.endswith("?"))
    if not returns:
        raise Refused("nothing is returned")
    if not inputs:
        raise Refused("there is no tensor among the operands")
    if any(kind not in ("Tensor", "Tensor[]") for kind in returns):
        raise Refused("the result is no tensor")
    if any(kind == "Tensor[]" for kind in returns):
        raise Refused("the number of results is not said")
    if sum("variadic" in each for each in inputs.values()) > 1:
        raise Refused("several lists of tensors")
    return body(base, inputs, attrs, len(returns))


def attr(kind: str, default: str | None, optional: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"type": kind}
    if optional:
        made["optional"] = "true"
    if default is None or default == "None":
        return made
    if kind == "bool":
        made["default"] = default.lower()
    elif kind in ("ints", "floats"):
        made["default"] = [part.strip() for part in default.strip("[]").split(",") if part.strip()]
    elif kind == "dtype":
        made["default"] = {"long": "int64"}.get(default, "float32")
    elif kind == "str":
        made["default"] = default.strip("'\"") or "none given"
    elif default.lstrip("-").replace(".", "").replace("e-", "").isdigit():
        made["default"] = default
    else:
        made["default"] = {"True": "1", "False": "0", "Mean": "1", "inf": "inf"}.get(default, "0")
    return made


def body(base: str, inputs: dict[str, Any], attrs: dict[str, Any], results: int) -> dict[str, Any]:
    first = next((name for name, each in inputs.items() if set(each) == {"dtype"}), None)
    made: dict[str, Any] = {"doc": f"As {base} of PyTorch.", "inputs": inputs}
    if attrs:
        made["attrs"] = attrs
    names = ["result"] if results == 1 else [f"result{k}" for k in range(results)]
    if base in ELEMENTWISE and first is not None and results == 1 and not attrs and len(inputs) == 1:
        inputs[first] = {"shape": "*S", "dtype": "float"}
        made["outputs"] = {"result": {"shape": "*S", "dtype": f"{first}.dtype"}}
        made["compute"] = f"result[*s] = {base}({first}[*s])\n"
        made["tests"] = [{first: "float32[3, 4]"}]
        return made
    shape, dtype = ("()", "float32") if first is None else (f"{first}.shape", f"{first}.dtype")
    made["outputs"] = {name: {"shape": shape, "dtype": dtype} for name in names}
    made["type_relation"] = {"python": "torchops.relations:decided"}
    made["compute"] = {"python": f"torchops.functions_{base.lstrip('_')[:1]}:run"}
    return made


def write(folder: Path, found: dict[str, dict[str, Any]]) -> None:
    """A project of the declarations, some forty in a folder."""
    import yaml

    (folder / "torchops").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[tool.opgen]\npackage = "torchops"\n')
    (folder / "torchops/relations.py").write_text(
        "def decided(types, num_inputs, attrs, reporter):\n    raise NotImplementedError\n"
    )
    for letter in "abcdefghijklmnopqrstuvwxyz":
        (folder / f"torchops/functions_{letter}.py").write_text(
            "def run(*operands, **attrs):\n    raise NotImplementedError\n"
        )
    for number, (name, each) in enumerate(found.items()):
        path = folder / "opdefs" / f"part{number // 40}" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"op": name, **each}, sort_keys=False, width=120))


def measure(label: str, folder: Path, changed: Path, options: list[str], bytecode: dict[str, str]) -> None:
    """From nothing, without a change, and with one."""
    command = [sys.executable, "-m", "opgen", "generate", *options]
    with tempfile.TemporaryDirectory() as cache:
        environment = {"OPGEN_CACHE_DIR": cache, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", **bytecode}
        print(f"{label}, all from nothing:  {timed(command, folder, **environment)}", flush=True)
        for _ in range(3):
            print(f"{label}, without a change:  {timed(command, folder, **environment)}", flush=True)
        for turn in range(3):
            text = changed.read_text()
            changed.write_text(text.replace("\ndoc: ", f"\ndoc: Changed {turn}. ", 1))
            print(f"{label}, one declaration changed:  {timed(command, folder, **environment)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torchgen", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--python", default=sys.executable, help="a Python that can import torchgen")
    parser.add_argument("--ops", type=int, default=2500)
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    options = [] if arguments.jobs is None else ["--jobs", str(arguments.jobs)]
    print(
        f"load of the machine: {' '.join(f'{each:.1f}' for each in os.getloadavg())}, {os.cpu_count()} processors"
    )
    reader = [arguments.python, "-c", READER, str(arguments.torchgen)]
    lines = subprocess.run(reader, check=True, capture_output=True, text=True).stdout.splitlines()
    refused: Counter[str] = Counter()
    found = declarations(map(json.loads, lines), arguments.ops, refused)
    print(
        f"{len(lines)} entries of torchgen: {len(found)} declared, {sum(refused.values())} refused before that many:"
    )
    for reason, count in refused.most_common():
        print(f"  {count:5}  {reason}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        write(folder, found)
        library = Path(scratch) / "library"
        for name in ("opdefs", "templates", "runtime/opgen_runtime/externs", "pyproject.toml"):
            source = ROOT / name
            target = library / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        torch = [
            arguments.python,
            "-m",
            "torchgen.gen",
            "--source-path",
            f"{arguments.torchgen}/torchgen/packaged/ATen",
        ]
        (Path(scratch) / "aten").mkdir()
        torch += ["--install_dir", f"{scratch}/aten"]
        sources = (ROOT / "opgen", ROOT / "runtime", arguments.torchgen / "torchgen")
        bytecode = with_bytecode(Path(scratch) / "bytecode", *sources)
        print(f"torchgen:  {timed(torch, arguments.torchgen, **bytecode)}", flush=True)
        first = next(iter(sorted((folder / "opdefs").rglob("*.yaml"))))
        measure(f"{len(found)} declarations", folder, first, options, bytecode)
        print(f"torchgen again:  {timed(torch, arguments.torchgen, **bytecode)}", flush=True)
        measure("the library", library, library / "opdefs/elementwise/axis_abs.yaml", options, bytecode)


if __name__ == "__main__":
    main()
