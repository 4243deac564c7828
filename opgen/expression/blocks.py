"""Names and paths of the statements of `compute:`: definitions, calls, `while`s and updates."""

from __future__ import annotations

from collections.abc import Collection

from . import syntax as s
from .definitions import check_def, declare, declare_defs, same_paths
from .names import COMPUTE, SHAPE, STATIC, NameChecker, Section, is_loop
from .paths import assigned, defines, on_every_path
from .print import to_text
from .scope import Kind, Local, Symbol, is_order
from .vocabulary import AT_MOST, OPS

_TARGETS = frozenset({Kind.OUTPUT, Kind.OUTPUTS, Kind.TENSOR})


def check_compute(block: s.Block, checker: NameChecker, partial: bool = False) -> None:
    """`compute:`: names, stages, left sides, and that every path defines the same tensors, outputs included.

    With `partial` some statements are missing, so that nothing is said of what is not defined.
    """
    ComputeChecker(checker, partial).run(block)


class ComputeChecker:
    """Checks the statements of one compute text in order."""

    def __init__(self, checker: NameChecker, partial: bool) -> None:
        self.checker = checker
        self.partial = partial
        self.symbols = checker.namespace.symbols
        self.shaped: set[str] = set()  # intermediates whose shape has been stated on this path
        self.stated: set[str] = set()  # on any path
        self.anywhere: set[str] = set()  # tensors that some path defines
        self.definitions: dict[str, list[s.Define]] = {}  # so far
        self.updated: set[str] = set()  # tensors with an update above
        self.left: dict[str, Symbol] = {}  # names of the branches that have been left

    def run(self, block: s.Block) -> None:
        declare_defs(block, self.checker)
        wanted = [n for n, symbol in self.symbols.items() if symbol.kind in (Kind.OUTPUT, Kind.OUTPUTS)]
        self.checker.branched |= assigned(block) | {item.tensor.name for item in defines(block)}
        self.block(block, set())
        for name in wanted:
            if name not in self.anywhere and not self.partial:
                self.checker.error(
                    "undefined", f"the output `{name}` is never defined", self.symbols[name].place
                )
        for item in block:
            if isinstance(item, s.Def):
                check_def(item, COMPUTE, self.checker)
        for name, symbol in self.left.items():
            self.symbols.setdefault(name, symbol)  # the translation of the branches needs them

    def block(self, block: s.Block, outer: set[str]) -> set[str]:
        """Check statements below definitions of the tensors `outer`; the tensors that they define on every path."""
        known = on_every_path(block)
        self._declare_tensors(block, known)
        self.checker.hidden |= known & assigned(block)
        defined: set[str] = set()
        for item in block:
            if isinstance(item, s.Define):
                self._define(item)
                defined.add(item.tensor.name)
                self.anywhere.add(item.tensor.name)
            elif isinstance(item, s.Assign):
                self._assign(item)
            elif isinstance(item, s.If):
                defined |= self._if(item, defined | outer)
            elif isinstance(item, s.For):
                self._for(item, {}, defined | outer)
            elif isinstance(item, s.While):
                self._while(item, defined | outer)
        return defined

    def _declare_tensors(self, block: s.Block, known: set[str]) -> None:
        for item in defines(block):
            name = item.tensor
            symbol = self.symbols.get(name.name)
            if name.name in known and (symbol is None or symbol.kind not in _TARGETS):
                declare((name,), Kind.TENSOR, self.checker)

    def _assign(self, item: s.Assign) -> None:
        if is_order(item.value, self.symbols):
            assert isinstance(item.value, s.Call)
            self.checker.check_order(item.value, COMPUTE)
            if len(item.targets) > 1:
                text = f"`{item.value.function.name}` gives one tensor, not {len(item.targets)}"
                self.checker.error("op-call", text, item.value.place)
            self._name_results(item.targets, f"{item.value.function.name}(x, axis)")
            return
        self.checker.check(item.value, COMPUTE, {})
        if isinstance(item.value, s.OpCall):
            self._name_results(item.targets, f"{OPS}.{item.value.op.name[:60]}(...)")
            return
        if self.checker.is_element(item.value, {}):
            text = "a name at the top is static; a value made of elements is a tensor"
            hint = f"write `{item.targets[0].name}[()]: () = ...` and read `{item.targets[0].name}[()]`"
            self.checker.error("stage", text, item.value.place, hint)
        declare(item.targets, Kind.STATIC, self.checker)
        self.checker.hidden -= {target.name for target in item.targets}

    def _name_results(self, names: tuple[s.Name, ...], call: str) -> None:
        """Declare the names of what an op or a sort gives; an output is defined by its elements."""
        for name in names:
            symbol = self.symbols.get(name.name)
            if symbol is not None and symbol.kind in (Kind.OUTPUT, Kind.OUTPUTS):
                text = f"the output `{name.name}` is defined by its elements"
                hint = f"write `y = {call}` and `{name.name}[*i] = y[*i]`"
                self.checker.error("op-call", text, name.place, hint)
                self.anywhere.add(name.name)
        fresh = tuple(name for name in names if name.name not in self.anywhere)
        declare(fresh, Kind.CALLED, self.checker)
        self.checker.hidden -= {name.name for name in names}

    def _while(self, item: s.While, defined: Collection[str]) -> None:
        """Check a `while`: its tensors are defined above it, and its lines have one set of indices."""
        self.checker.check(item.limit, COMPUTE, {})
        self.checker.need_static(item.limit, f"what `{AT_MOST}` takes", {})
        if not item.defines:
            self.checker.error("update", "a `while` changes no tensor; it holds `x[i] = ...`", item.place)
            return
        seen: set[str] = set()
        for define in item.defines:
            self._iterated(define, item.defines[0], defined, seen)
            seen.add(define.tensor.name)
        for name in seen:
            self._begins(name, seen)
        if not all(map(_is_fresh, item.defines[0].indices)):
            return  # reported: nothing names the elements
        local = self._indices(item.defines[0].indices, {})
        if item.condition is not None:
            self.checker.check(item.condition, COMPUTE, local)
        for line in item.body:
            self.checker.check(line.value, COMPUTE, local)
            if isinstance(line, s.Assign):
                local = self.checker.bind(line.targets, Kind.LOCAL, local)

    def _begins(self, name: str, iterated: Collection[str]) -> None:
        """What a tensor of a `while` begins with reads none of them: the names mean what they are afterwards."""
        for define in self.definitions.get(name, ()):
            found = (n for n in s.walk(define.value) if isinstance(n, s.Name) and n.name in iterated)
            read = next(found, None)
            if read is not None:
                text = f"`{name}` begins with `{read.name}`, which means what that is after the `while`"
                hint = f"write the value that `{read.name}` begins with, or give it a tensor of its own"
                self.checker.error("update", text, read.place, hint)

    def _iterated(
        self, define: s.Define, first: s.Define, defined: Collection[str], seen: Collection[str]
    ) -> None:
        name, symbol = define.tensor.name, self.symbols.get(define.tensor.name)
        if symbol is None or name not in defined:
            if not self.partial:
                text = f"`{name}` is computed again here, and is defined nowhere above"
                hint = f"define what it begins with above the `while`: `{name}[...]: (shape) = ...`"
                self.checker.error("undefined", text, define.tensor.place, hint)
        elif define.member is not None or symbol.kind is Kind.OUTPUTS:
            self.checker.error("index", "a `while` changes single tensors, no groups", define.place)
        elif name in self.updated:
            text = f"`{name}` is updated above; its updates come after the `while`"
            self.checker.error("update", text, define.tensor.place)
        if name in seen:
            text = f"`{name}` is computed twice in one step; give the first a name of its own, `a = ...`"
            self.checker.error("update", text, define.place)
        if not all(map(_is_fresh, define.indices)):
            text = "the indices of a `while` are fresh names, or `*name`"
            self.checker.error("index", text, define.place)
        elif [to_text(each) for each in define.indices] != [to_text(each) for each in first.indices]:
            text = "the tensors of one `while` have the same indices: each element is computed by itself"
            self.checker.error("index", text, define.place)

    def _if(self, item: s.If, outer: set[str]) -> set[str]:
        self.checker.check(item.condition, COMPUTE, {})
        self.checker.need_static(item.condition, "the condition of an `if` statement", {})
        shaped, hidden = set(self.shaped), set(self.checker.hidden)
        then, bound = self._branch(item.then, outer)
        shaped, self.shaped = self.shaped, shaped
        self.checker.hidden = hidden
        other, others = self._branch(item.otherwise, outer)
        self.shaped |= shaped
        self.checker.hidden = hidden - (bound.keys() & others.keys())
        self.symbols.update({name: symbol for name, symbol in bound.items() if name in others})
        known = self.symbols.keys()
        same_paths(then & known, other & known, item.place, self.checker)
        return then & other

    def _branch(self, block: s.Block, outer: set[str]) -> tuple[set[str], dict[str, Symbol]]:
        """Check a branch: the tensors that it defines, and the names that it adds, which are taken out again."""
        before = set(self.symbols)
        defined = self.block(block, outer)
        bound = {name: symbol for name, symbol in self.symbols.items() if name not in before}
        for name, symbol in bound.items():
            del self.symbols[name]
            self.shaped.discard(name)
            self.stated.discard(name)
            other = self.left.setdefault(name, symbol)
            if other.kind is not symbol.kind:
                text = f"`{name}` is {other.kind.value} in another branch; names shadow nothing"
                note = [("first bound here", other.place)]
                self.checker.diagnostics.error("duplicate-name", text, symbol.place, None, note)
        return defined, bound

    def _define(self, item: s.Define) -> None:
        name, symbol = item.tensor.name, self.symbols.get(item.tensor.name)
        if symbol is None or symbol.kind not in _TARGETS:
            return  # reported when it was declared
        local: Local = {}
        if symbol.kind is Kind.OUTPUTS:
            local = self._member(item)
        elif item.member is not None:
            self.checker.error("index", f"`{name}` is one tensor, it has no members", item.place)
        self.definitions.setdefault(name, []).append(item)
        self._shape(item, symbol)
        local = self._indices(item.indices, local)
        self.checker.check(item.value, COMPUTE, local)

    def _member(self, item: s.Define) -> Local:
        """`out[j][...]`: j is fresh and static, or the position is a static value."""
        name = item.tensor.name
        if item.member is None:
            self.checker.error(
                "index", f"`{name}` is a group of tensors; define `{name}[j][...]`", item.place
            )
            return {}
        if isinstance(item.member, s.Name):
            index = self.symbols.get(item.member.name)
            if index is not None:
                return {}
            return self.checker.bind((item.member,), Kind.LOCAL, {})
        self.checker.check(item.member, STATIC, {})
        return {}

    def _shape(self, item: s.Define, symbol: Symbol) -> None:
        name = item.tensor.name
        if symbol.kind is not Kind.TENSOR:
            if item.shape is not None:
                text = f"the shape of the output `{name}` stands under `outputs:`, not here"
                self.checker.error("index", text, item.shape.place)
            return
        if item.shape is not None and name in self.shaped:
            self.checker.error("duplicate-name", f"the shape of `{name}` is already stated", item.shape.place)
        elif item.shape is None and name not in self.stated and not self.partial:
            hint = f"write `{name}[...]: (shape) = ...`"
            text = f"the first definition of the intermediate `{name}` states its shape"
            self.checker.error("undefined", text, item.place, hint)
        if item.shape is not None:
            self._stated_shape(item.shape)
        self.shaped.add(name)
        self.stated.add(name)

    def _stated_shape(self, shape: s.Expression) -> None:
        """The shape of an intermediate; it may be made of those of the intermediates above."""
        sees = SHAPE.sees | {Kind.STATIC, Kind.TENSOR, Kind.CALLED}
        self.checker.check(shape, Section(SHAPE.title, sees, unknown=SHAPE.unknown), {})
        for node in s.walk(shape):
            symbol = self.symbols.get(node.name) if isinstance(node, s.Name) else None
            if symbol is not None and symbol.kind is Kind.TENSOR and symbol.name not in self.stated:
                self.checker.error("unknown-name", f"`{symbol.name}` is used before it is bound", node.place)

    def _indices(self, indices: tuple[s.Expression | s.Star, ...], local: Local) -> Local:
        stars = 0
        for index in indices:
            if isinstance(index, s.Star):
                stars += 1
                if not isinstance(index.value, s.Name):
                    self.checker.error("index", "a starred index on the left is a fresh name", index.place)
                else:
                    local = self.checker.bind((index.value,), Kind.INDICES, local)
                if stars == 2:
                    self.checker.error("index", "the left side has at most one starred name", index.place)
            elif isinstance(index, s.Name):
                local = self.checker.bind((index,), Kind.INDEX, local)
            else:
                local = self._position(index, local)
        return local

    def _position(self, index: s.Expression, local: Local) -> Local:
        """A static position; names that nothing binds, as in `out[i + 1]`, are taken for indices."""
        inside = [node for node in s.walk(index) if isinstance(node, s.Name)]
        fresh = tuple(node for node in inside if self.checker.is_unknown(node.name, local))
        if fresh:
            text = "an index on the left is a fresh name, `*name` or a static position"
            hint = f"write `{fresh[0].name[:60]}` alone, and shift the indices that are read"
            self.checker.error("index", text, index.place, hint)
            return {**local, **{node.name: Kind.INDEX for node in fresh}}
        self.checker.check(index, STATIC, local)
        self.checker.need_static(index, "a position on the left", local)
        return local

    def _for(self, item: s.For, local: Local, defined: Collection[str]) -> None:
        self.checker.check(item.iterable, COMPUTE, local)
        kind = Kind.LOOP if is_loop(item.iterable) else Kind.LOCAL
        local = self.checker.bind(item.targets, kind, local)
        self._body(item.body, local, defined)

    def _body(self, block: s.Block, local: Local, defined: Collection[str]) -> None:
        for item in block:
            if isinstance(item, s.For):
                self._for(item, local, defined)
            elif isinstance(item, s.If):
                self.checker.check(item.condition, COMPUTE, local)
                self._body(item.then, local, defined)
                self._body(item.otherwise, local, defined)
            elif isinstance(item, s.Assign):
                self.checker.check(item.value, COMPUTE, local)
                local = self.checker.bind(item.targets, Kind.LOCAL, local)
            elif isinstance(item, s.Put):
                local = self._put(item, local, defined)

    def _put(self, item: s.Put, local: Local, defined: Collection[str]) -> Local:
        """Check an update; names of its left side that nothing binds are reported once, and known from then on."""
        name = item.tensor.name
        symbol = self.symbols.get(name)
        self.updated.add(name)
        kind = local.get(name) or (symbol.kind if symbol else None)
        if kind is None:
            self.checker.check(item.tensor, COMPUTE, local)
        elif kind not in _TARGETS:
            text = f"`{name}` is {kind.value}; only outputs and intermediates are updated"
            self.checker.error("update", text, item.tensor.place)
        elif name not in defined and not self.partial:
            self.checker.error("update", f"`{name}` is updated before it is defined", item.tensor.place)
        inside = [node for index in item.indices for node in s.walk(index) if isinstance(node, s.Name)]
        fresh = {node.name: node for node in inside if self.checker.is_unknown(node.name, local)}
        if fresh:
            first = next(iter(fresh.values()))
            text = (
                f"inside a `for` this updates `{name}`, whose indices are bound; `{first.name[:60]}` is not"
            )
            hint = (
                f"write `for {first.name[:60]} in range(...)` around it, or define `{name}` outside the `for`"
            )
            self.checker.error("unknown-name", text, first.place, hint)
            local = {**local, **dict.fromkeys(fresh, Kind.LOOP)}
        for index in item.indices:
            self.checker.check(index, COMPUTE, local)
        self.checker.check(item.value, COMPUTE, local)
        return local


def _is_fresh(index: s.Expression | s.Star) -> bool:
    return isinstance(index.value if isinstance(index, s.Star) else index, s.Name)
