"""The project that a command works in: `[tool.opgen]` of the nearest pyproject.toml.

[tool.opgen]
opdefs = "opdefs"             # the declarations
output = "myops"              # folder of the generated package
package = "myops"             # its import name
tests = "tests/generated"     # generated suites
namespace = "myops"           # prefix of op names in the registry; "" for the built-in library only
templates = "templates"       # optional: templates that replace the built-in ones of the same name
rewrites = "rewrites"         # optional: declared rewrites; default: rewrites
passes = "myops/rewrites"     # optional: folder of the passes generated of them; default: rewrites, in `output`
packages = ["myops"]          # optional: packages in which `python:` references are looked up

[tool.opgen.emitters.card]    # optional: one more file for each op
path = "docs/{op}.md"
view = "myops.cards:card"     # what is printed; an emitter that is built in or installed needs none
template = "card.md.j2"       # optional: how; default: the emitter's name with the suffix of the path
"""

from __future__ import annotations

import keyword
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from .diagnostics import did_you_mean

KEYS: Final = (
    "opdefs",
    "output",
    "package",
    "tests",
    "namespace",
    "templates",
    "packages",
    "emitters",
    "rewrites",
    "passes",
)
REWRITES: Final = "rewrites"  # the folder of declared rewrites, and of what is generated of them
DERIVED: Final = ("vjp", "part")  # the namespaces of ops that are made of others
_EMITTER_KEYS: Final = ("path", "view", "template")
# How a comment of a kind of file begins and ends; generated files say in one what they are.
COMMENTS: Final = {
    **dict.fromkeys((".py", ".pyi", ".toml", ".yaml", ".yml", ".txt", ".cmake", ".sh"), ("# ", "")),
    **dict.fromkeys((".md", ".html", ".xml", ".svg"), ("<!-- ", " -->")),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".js", ".ts", ".rs", ".mlir"), ("// ", "")),
}


class ProjectError(Exception):
    """No project here, or `[tool.opgen]` says something that cannot be."""


@dataclass(frozen=True, slots=True)
class OwnEmitter:
    """One more file for each op, as `[tool.opgen.emitters.NAME]` states it."""

    name: str
    path: str  # from the project's root, with `{op}` for the op's name
    view: str | None  # `package.module:function`; None: that of the name, built in or installed
    template: str


@dataclass(frozen=True, slots=True)
class Project:
    """Where everything of one project is.  All paths are absolute and below `root`."""

    root: Path
    opdefs: Path
    output: Path
    tests: Path
    package: str
    namespace: str
    templates: Path | None
    packages: tuple[str, ...]
    emitters: tuple[OwnEmitter, ...] = ()
    rewrites_folder: str = REWRITES  # from the project's root
    passes_folder: str = ""  # from the project's root; "": inside `output`

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where generated files are."""
        own = (self.root / Path(each.path).parent for each in self.emitters)
        return tuple(dict.fromkeys((self.output, self.tests, self.passes, self.pass_tests, *own)))

    @property
    def rewrites(self) -> Path:
        """Where declared rewrites are."""
        return self.root / self.rewrites_folder

    @property
    def passes(self) -> Path:
        """Where the passes are that are generated of them."""
        return self.root / self.passes_folder if self.passes_folder else self.output / REWRITES

    @property
    def pass_tests(self) -> Path:
        """Where the suites of generated passes are."""
        return self.tests / REWRITES

    def relative(self, path: Path) -> str:
        """`path` as generated files and messages name it: from the project's root, with slashes."""
        return path.relative_to(self.root).as_posix()

    def qualified(self, name: str) -> str:
        """The registry's name of op `name`."""
        return f"{self.namespace}.{name}" if self.namespace else name

    @property
    def import_root(self) -> Path:
        """The folder that must be on Python's path for `package` to be importable."""
        root = self.output
        for _ in self.package.split("."):
            root = root.parent
        return root


def resources(kind: Literal["templates", "opdefs"]) -> Path:
    """The built-in templates or declarations: beside the package in a checkout, inside it in a wheel.

    Raises ProjectError where the installation holds neither.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / f"_{kind}", package.parent / kind):
        if folder.is_dir():
            return folder
    raise ProjectError(f"this installation of opgen holds no {kind}; install it again")


def find_project(start: Path | None = None) -> Project:
    """The project of `start` (default: the current folder), searched upward.

    Raises ProjectError when no pyproject.toml with a [tool.opgen] table is found or the table is wrong.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _project(folder, file, table)
    raise ProjectError(
        f"{start} is not inside an opgen project: no pyproject.toml with a [tool.opgen] table here or above; "
        "`opgen init NAME` makes a project"
    )


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file}: {error}") from None
    tool = document.get("tool")
    table = tool.get("opgen") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ProjectError(f"{file}: [tool.opgen] must be a table")
    return table


def _project(root: Path, file: Path, table: Mapping[str, object]) -> Project:
    for key in table:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            raise ProjectError(f"{file}: [tool.opgen] has an unknown key {key!r}; {hint}")
    package = _text(file, table, "package", None)
    for part in package.split("."):
        if not _is_name(part):
            raise ProjectError(f"{file}: [tool.opgen] package = {package!r} is not an import name")
    namespace = _text(file, table, "namespace", package.split(".")[0])
    if namespace and not _is_name(namespace):
        raise ProjectError(f"{file}: [tool.opgen] namespace = {namespace!r} is not an identifier")
    if namespace in DERIVED:
        raise ProjectError(
            f"{file}: [tool.opgen] namespace = {namespace!r} is that of derived ops; choose another"
        )
    output = _folder(root, file, _text(file, table, "output", package.replace(".", "/")))
    if output.parts[-len(package.split(".")) :] != tuple(package.split(".")):
        raise ProjectError(
            f"{file}: [tool.opgen] output = {output.name!r} does not end in the folders of package {package!r}"
        )
    packages = table.get("packages", [package.split(".")[0]])
    if not isinstance(packages, list) or not all(
        isinstance(name, str) and _is_name(name) for name in packages
    ):
        raise ProjectError(f"{file}: [tool.opgen] packages must be a list of import names")
    templates = None
    if "templates" in table:
        templates = _folder(root, file, _text(file, table, "templates", None))
        if not templates.is_dir():
            raise ProjectError(f"{file}: [tool.opgen] templates: there is no folder {templates}")
    return Project(
        root=root,
        opdefs=_folder(root, file, _text(file, table, "opdefs", "opdefs")),
        output=output,
        tests=_folder(root, file, _text(file, table, "tests", "tests/generated")),
        package=package,
        namespace=namespace,
        templates=templates,
        packages=tuple(packages),
        emitters=_emitters(root, file, table),
        rewrites_folder=_relative(root, file, table, "rewrites", REWRITES),
        passes_folder=_relative(root, file, table, "passes", ""),
    )


def _emitters(root: Path, file: Path, table: Mapping[str, object]) -> tuple[OwnEmitter, ...]:
    tables = table.get("emitters", {})
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise ProjectError(f"{file}: [tool.opgen.emitters.NAME] is a table for each emitter")
    found = [_emitter(root, file, name, each) for name, each in tables.items()]
    if len({each.path for each in found}) < len(found):
        raise ProjectError(f"{file}: [tool.opgen.emitters] two emitters have one path")
    return tuple(found)


def _emitter(root: Path, file: Path, name: str, table: Mapping[str, object]) -> OwnEmitter:
    where = f"{file}: [tool.opgen.emitters.{name}]"
    for key in table:
        if key not in _EMITTER_KEYS:
            hint = did_you_mean(key, _EMITTER_KEYS) or f"the keys are {', '.join(_EMITTER_KEYS)}"
            raise ProjectError(f"{where} has an unknown key {key!r}; {hint}")
    texts = {key: value for key, value in table.items() if isinstance(value, str)}
    if len(texts) < len(table) or "path" not in texts:
        raise ProjectError(f"{where} needs a text `path`, and has texts alone")
    path = Path(texts["path"])
    if path.name.count("{op}") != 1 or "{" in str(path.parent) or "}" in path.name.replace("{op}", ""):
        raise ProjectError(
            f"{where} path = {texts['path']!r}: its last part holds `{{op}}`, the op's name, once"
        )
    _folder(root, file, str(path.parent / "op"))
    if path.suffix not in COMMENTS:
        raise ProjectError(
            f"{where} path = {texts['path']!r}: generated files say what they are in a comment, which is known of "
            f"{', '.join(COMMENTS)}"
        )
    return OwnEmitter(
        name, path.as_posix(), texts.get("view"), texts.get("template", f"{name}{path.suffix}.j2")
    )


def _text(file: Path, table: Mapping[str, object], key: str, default: str | None) -> str:
    value = table.get(key, default)
    if value is None:
        raise ProjectError(f"{file}: [tool.opgen] needs the key {key!r}")
    if not isinstance(value, str):
        raise ProjectError(f"{file}: [tool.opgen] {key} must be a text, not {value!r}")
    return value


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _relative(root: Path, file: Path, table: Mapping[str, object], key: str, default: str) -> str:
    """A folder below the root, from there."""
    text = _text(file, table, key, default)
    return _folder(root, file, text).relative_to(root).as_posix() if text else ""


def _folder(root: Path, file: Path, text: str) -> Path:
    try:
        folder = (root / text).resolve()
    except ValueError as error:  # a NUL character
        raise ProjectError(f"{file}: [tool.opgen] names the folder {text!r}: {error}") from None
    if root not in folder.parents:
        raise ProjectError(f"{file}: [tool.opgen] names the folder {text!r}, which is not below {root}")
    return folder
