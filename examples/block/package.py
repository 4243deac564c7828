"""The project from `opgen init` to a wheel that a fresh environment installs: python package.py [--with torch,jax]

In a folder that goes away in the end: a new project gets the declarations and pyproject.toml of this one, is generated
and made a wheel; an environment that has nothing else installs it, with opgen from this checkout, and calls its ops on
arrays, and on the tensors of the frameworks that are named, in the versions that are installed here.  Needs what pip
finds: hatchling, and what is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
WITHOUT_CUDA: Final = "https://download.pytorch.org/whl/cpu"
"""Where torch's builds without CUDA are."""
# What the installed package is asked to do, on what; each prints a line.
CALLS: Final = {
    "arrays": """
import numpy as np, block
rows = block.eager.norm(np.ones((2, 4), "float32"), np.full(4, 3, "float32"), epsilon=1e-12)
print("arrays:", rows.tolist()[0])
""",
    "torch": """
import torch, block.torch as B
x = torch.ones(2, 4, requires_grad=True)
rows = B.norm(x, torch.full((4,), 3.0), epsilon=1e-12)
rows.sum().backward()
print("torch:", rows.tolist()[0], "gradient", [abs(round(each, 3)) for each in x.grad.tolist()[0]])
""",
    "jax": """
import jax, jax.numpy as jnp, block.jax as B
norm = jax.jit(lambda x: B.norm(x, jnp.full(4, 3.0), epsilon=1e-12))
x = jnp.ones((2, 4))
gradient = jax.grad(lambda x: norm(x).sum())(x)
print("jax:", norm(x).tolist()[0], "gradient", [abs(round(each, 3)) for each in gradient.tolist()[0]])
""",
}


def run(folder: Path, *command: str | Path) -> None:
    """Raises CalledProcessError where the command fails."""
    print("$", *[Path(each).name if isinstance(each, Path) else each for each in command], flush=True)
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*map(str, command)], cwd=folder, check=True, env=outside)


def wheel(folder: Path) -> Path:
    """A new project in the folder, with these declarations, as a wheel."""
    python = Path(sys.executable)
    run(folder, python, "-m", "opgen", "init", "block")
    project = folder / "block"
    shutil.copy(HERE / "pyproject.toml", project)
    shutil.copytree(HERE / "opdefs", project / "opdefs", dirs_exist_ok=True)
    run(project, python, "-m", "opgen", "generate")
    run(folder, python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", "dist", project, CHECKOUT)
    return next((folder / "dist").glob("block-*.whl"))


def installed(folder: Path, made: Path, extras: list[str]) -> Path:
    """The Python of an environment that has the wheel, opgen, and what they need."""
    run(folder, Path(sys.executable), "-m", "venv", "fresh")
    python = folder / "fresh" / "bin" / "python"
    opgen = next(made.parent.glob("opgen-*.whl"))
    wanted = f"{made}[{','.join(extras)}]" if extras else str(made)
    install = (python, "-m", "pip", "install", "-q")
    versions = {each: f"{each}=={version(each)}" for each in extras}
    if "torch" in versions:  # alone, so that nothing else is looked for there
        options = ("--no-deps", "--retries", "1", "--extra-index-url", WITHOUT_CUDA)
        run(folder, *install, *options, versions["torch"])
    run(folder, *install, opgen, wanted, *versions.values())
    return python


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--with", dest="extras", default="", help="frameworks: torch,jax")
    extras = [each for each in parser.parse_args().extras.split(",") if each]
    if unknown := [each for each in extras if each not in ("torch", "jax")]:
        parser.error(f"{unknown[0]!r} is no framework of this project; expected torch or jax")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(folder, wheel(folder), extras)
        for each in ("arrays", *extras):
            (folder / f"{each}_call.py").write_text(CALLS[each], encoding="utf-8")
            run(folder, python, f"{each}_call.py")


if __name__ == "__main__":
    main()
