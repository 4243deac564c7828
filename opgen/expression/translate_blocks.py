"""Statements to Python: the function `compute`, and the rules that `let:` makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ..diagnostics import Place
from . import syntax as s
from .names import is_loop
from .paths import assigned, defines, on_every_path
from .scope import TENSORS, Kind, Local, Namespace, is_order
from .translate import Translator, at, attribute, call, constant, make_arguments, make_lambda, name


def translate_compute(
    block: s.Block,
    namespace: Namespace,
    parameters: Sequence[str],
    place: Place,
    known_ops: Mapping[str, str] = MappingProxyType({}),
) -> ast.FunctionDef:
    """`def compute(data: _d.Any, ..., out: _d.Any) -> None`, without a docstring.

    `def`s come first and updates last: definitions are lazy, updates read what they need at once.
    """
    body = _ComputeTranslator(namespace, block, place, known_ops).run()
    arguments = make_arguments(parameters, place)
    for argument in arguments.args:
        argument.annotation = attribute("_d", "Any", place)
    made = ast.FunctionDef("compute", arguments, body, [], returns=constant(None, place), type_comment=None)
    return at(made, place)


class _ComputeTranslator:
    def __init__(
        self, namespace: Namespace, block: s.Block, place: Place, known_ops: Mapping[str, str]
    ) -> None:
        self.translator = Translator(namespace, static=False)
        self.static = Translator(namespace, static=True, known_ops=known_ops)
        self.symbols = namespace.symbols
        self.program = block
        self.place = place
        self.hoisted: set[s.Define] = set()  # definitions whose shape has been stated above them

    def run(self) -> list[ast.stmt]:
        block = self.program
        defs: list[ast.stmt] = [self._def(item) for item in block if isinstance(item, s.Def)]
        made = [*defs, *self._block(block), *self._loops(block)]
        return made or [_pass(self.place)]

    def _block(self, block: Sequence[s.Statement]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        first = self._first_shapes(block)
        for item in block:
            for define in defines((item,)):
                stated = first.pop(define.tensor.name, None)
                if stated is not None:
                    self.hoisted.add(stated)
                    made.append(self._tensor(stated))
            if isinstance(item, s.Assign):
                made.append(_assign(item, self._value(item)))
            elif isinstance(item, s.Define):
                made += self._define(item)
            elif isinstance(item, s.While):
                made.append(self._while(item))
            elif isinstance(item, s.If):
                test = call("truth", item.place, self.static.expression(item.condition, {}))
                then, other = self._block(item.then), self._block(item.otherwise)
                if then or other:
                    made.append(at(ast.If(test, then or [_pass(item.place)], other), item.place))
        return made

    def _value(self, item: s.Assign) -> ast.expr:
        if isinstance(item.value, s.OpCall):
            return self.static.op_call(item.value, len(item.targets), {})
        if is_order(item.value, self.symbols):
            later = make_lambda((), self.static.expression(item.value, {}), item.place)
            return call("call_op", item.place, later)
        return self.static.expression(item.value, {})

    def _loops(self, block: Sequence[s.Statement]) -> list[ast.stmt]:
        """The updates, under the `if`s that they stand in."""
        made: list[ast.stmt] = []
        for item in block:
            if isinstance(item, s.For):
                made.append(self._for(item, {}))
            elif isinstance(item, s.If):
                then, other = self._loops(item.then), self._loops(item.otherwise)
                test = call("truth", item.place, self.static.expression(item.condition, {}))
                if then or other:
                    made.append(at(ast.If(test, then or [_pass(item.place)], other), item.place))
        return made

    def _first_shapes(self, block: Sequence[s.Statement]) -> dict[str, s.Define]:
        """Shapes to state above the statement that first defines the tensor.

        They are those that every path of the block needs and that are stated once, of names bound outside its
        branches.  The others are stated where they are written.
        """
        shapes: dict[str, list[s.Define]] = {}
        for define in defines(block):
            if define.shape is not None and define not in self.hoisted:
                shapes.setdefault(define.tensor.name, []).append(define)
        known = on_every_path(block)
        nested = assigned([item for item in block if isinstance(item, s.If)])
        return {
            name: found[0]
            for name, found in shapes.items()
            if name in known and len(found) == 1 and not nested & _names(found[0].shape)
        }

    def _tensor(self, define: s.Define) -> ast.stmt:
        assert define.shape is not None
        text, place = define.tensor.name, define.tensor.place
        shape = self.static.expression(define.shape, {})
        value = call("tensor", define.shape.place, constant(text, place), shape)
        return at(ast.Assign([at(ast.Name(text, ast.Store()), place)], value), place)

    def _define(self, item: s.Define) -> Iterator[ast.stmt]:
        text, place = item.tensor.name, item.place
        if item.shape is not None and item not in self.hoisted:
            yield self._tensor(item)
        tensor: ast.expr = name(text, item.tensor.place)
        member = item.member
        if member is None:
            yield _define_call(tensor, self._body(item, {}), self._positions(item), place)
            return
        if not isinstance(member, s.Name) or member.name in self.symbols:
            index = self.static.expression(member, {})
            chosen = at(ast.Subscript(tensor, index, ast.Load()), place)
            yield _define_call(chosen, self._body(item, {}), self._positions(item), place)
            return
        # The inner lambda is made by an outer one, so that each member keeps its own position.
        local: Local = {member.name: Kind.LOCAL}
        outer = make_lambda([member.name], self._body(item, local), place)
        body = at(ast.Call(outer, [name(member.name, place)], []), place)
        chosen = at(ast.Subscript(tensor, name(member.name, place), ast.Load()), place)
        source = call("range", place, call("len", place, name(text, place)))
        target = at(ast.Name(member.name, ast.Store()), member.place)
        statement = _define_call(chosen, body, self._positions(item), place)
        yield at(ast.For(target, source, [statement], [], None), place)

    def _while(self, item: s.While) -> ast.stmt:
        """`_l.iterate(limit, (x,), lambda x: lambda i: c, (0, lambda x, a: lambda i: ...))`; locals come last."""
        place, first = item.place, item.defines[0]
        tensors = [define.tensor.name for define in item.defines]
        names = [*tensors, *(target.name for line in item.assigns for target in line.targets)]
        handles: list[ast.expr] = [name(define.tensor.name, define.tensor.place) for define in item.defines]
        condition: ast.expr = constant(None, place)
        if item.condition is not None:
            indices = first.indices if _mentions(item.condition, first.indices) else ()
            inner = self._elements(indices, item.condition, {}, item.condition.place)
            condition = make_lambda(tensors, inner, item.condition.place)
        pieces: list[ast.expr] = []
        local: Local = {}
        for line in item.body:
            target = line.tensor if isinstance(line, s.Define) else line.targets[0]
            inner = self._elements(first.indices, line.value, local, line.place)
            entries = [constant(names.index(target.name), line.place), make_lambda(names, inner, line.place)]
            pieces.append(at(ast.Tuple(entries, ast.Load()), line.place))
            if isinstance(line, s.Assign):
                local = {**local, target.name: Kind.LOCAL}
        limit = self.static.expression(item.limit, {})
        states = at(ast.Tuple(handles, ast.Load()), place)
        return at(ast.Expr(call("iterate", place, limit, states, condition, *pieces)), place)

    def _body(self, item: s.Define, local: Local) -> ast.Lambda:
        return self._elements(item.indices, item.value, local, item.place)

    def _elements(
        self, indices: Sequence[s.Expression | s.Star], node: s.Expression, local: Local, place: Place
    ) -> ast.Lambda:
        """The lambda of the fresh indices."""
        before: list[str] = []
        after: list[str] = []
        star: str | None = None
        local = dict(local)
        for index in indices:
            if isinstance(index, s.Star) and isinstance(index.value, s.Name):
                star = index.value.name
                local[star] = Kind.INDICES
            elif isinstance(index, s.Name):
                (before if star is None else after).append(index.name)
                local[index.name] = Kind.INDEX
        value = self.translator.expression(node, local)
        arguments = make_arguments(before, place, star, after)
        return at(ast.Lambda(arguments, value), node.place)

    def _positions(self, item: s.Define) -> ast.expr | None:
        """`(0, _l.FREE, _l.REST)` where a position is fixed; None where all indices are fresh."""
        if all(isinstance(index, s.Name | s.Star) for index in item.indices):
            return None
        entries: list[ast.expr] = []
        for index in item.indices:
            if isinstance(index, s.Star):
                entries.append(attribute("_l", "REST", index.place))
            elif isinstance(index, s.Name):
                entries.append(attribute("_l", "FREE", index.place))
            else:
                entries.append(self.static.expression(index, {}))
        return at(ast.Tuple(entries, ast.Load()), item.place)

    def _def(self, item: s.Def) -> ast.FunctionDef:
        local: Local = {parameter.name: Kind.PARAMETER for parameter in item.parameters}
        for parameter in item.parameters:
            if parameter.star:
                local = {**local, parameter.name: Kind.INDICES}
        body: list[ast.stmt] = []
        for line in item.locals:
            body.append(_assign(line, self.translator.expression(line.value, local)))
            local = {**local, **{target.name: Kind.LOCAL for target in line.targets}}
        result = self.translator.expression(item.result, local)
        body.append(at(ast.Return(result), item.result.place))
        plain = [parameter.name for parameter in item.parameters if not parameter.star]
        star = next((parameter.name for parameter in item.parameters if parameter.star), None)
        arguments = make_arguments(plain, item.place, star)
        for argument in (*arguments.args, *([arguments.vararg] if arguments.vararg else [])):
            argument.annotation = attribute("_d", "Any", item.place)
        returns = attribute("_d", "Any", item.place)
        return at(
            ast.FunctionDef(item.name, arguments, body, [], returns=returns, type_comment=None), item.place
        )

    # ---------------------------------------------------------------- updates

    def _for(self, item: s.For, local: Local) -> ast.stmt:
        over = self.translator.expression(item.iterable, local)
        source = call("loop", item.place, over, constant(item.targets[0].name, item.place))
        kind = Kind.LOOP if is_loop(item.iterable) else self._kind_of(item.iterable, local)
        local = {**local, **{target.name: kind for target in item.targets}}
        names: list[ast.expr] = [at(ast.Name(t.name, ast.Store()), t.place) for t in item.targets]
        target = at(ast.Tuple(names, ast.Store()), item.place) if item.unpack else names[0]
        body = self._loop_body(item.body, local, item.place)
        return at(ast.For(target, source, body, [], None), item.place)

    def _loop_body(self, block: s.Block, local: Local, place: Place) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for item in block:
            if isinstance(item, s.For):
                made.append(self._for(item, local))
            elif isinstance(item, s.Assign):
                made.append(_assign(item, self.translator.expression(item.value, local)))
                kind = self._kind_of(item.value, local)
                local = {**local, **{target.name: kind for target in item.targets}}
            elif isinstance(item, s.If):
                made += self._guard(item, local)
            elif isinstance(item, s.Put):
                made.append(self._put(item, local))
        return made or [_pass(place)]  # nothing is left where no statement could be read

    def _guard(self, item: s.If, local: Local) -> list[ast.stmt]:
        condition = self.translator.expression(item.condition, local)
        then = self._loop_body(item.then, local, item.place)
        other = self._loop_body(item.otherwise, local, item.place) if item.otherwise else []
        if not self._needs_elements(item.condition, local):
            test = call("truth", item.place, condition)
            return [at(ast.If(test, then, other), item.place)]
        made: list[ast.stmt] = [_with(call("guard", item.place, condition), then, item.place)]
        if other:
            again = self.translator.expression(item.condition, local)
            refused = call("negate", item.place, again)
            made.append(_with(call("guard", item.place, refused), other, item.place))
        return made

    def _kind_of(self, value: s.Node, local: Local) -> Kind:
        """The kind of a name in a loop: static, or one that may hold an element value."""
        return Kind.LOCAL if self._needs_elements(value, local) else Kind.STATIC

    def _needs_elements(self, node: s.Node, local: Local) -> bool:
        """True if a value inside a loop may depend on the loop or on an element; else it is static."""
        return any(self._may_be_element(n, local) for n in s.walk(node))

    def _may_be_element(self, node: s.Node, local: Local) -> bool:
        if isinstance(node, s.Name):
            return local.get(node.name, Kind.STATIC) is not Kind.STATIC
        if isinstance(node, s.Call):
            is_def = self.translator.kind(node.function.name, local) is Kind.DEF
            return is_def and any(n.name in local for n in s.walk(node) if isinstance(n, s.Name))
        return isinstance(node, s.Subscript) and self._may_read(node, local)

    def _may_read(self, node: s.Subscript, local: Local) -> bool:
        """True unless the subscript is one of a shape, of a tuple, or the member of a group of tensors."""
        root, depth = node.value, 1
        while isinstance(root, s.Subscript):
            root, depth = root.value, depth + 1
        if not isinstance(root, s.Name):
            return False
        kind = self.translator.kind(root.name, local)
        if kind in (Kind.VARIADIC, Kind.OUTPUTS):
            return depth > 1
        return root.name in local or kind is None or kind in TENSORS

    def _put(self, item: s.Put, local: Local) -> ast.stmt:
        entries = self.translator.items(item.indices, local)
        indices = at(ast.Tuple(entries, ast.Load()), item.place)
        value = self.translator.expression(item.value, local)
        function = at(ast.Attribute(name(item.tensor.name, item.tensor.place), "put", ast.Load()), item.place)
        made = at(ast.Call(function, [indices, constant(item.op, item.place), value], []), item.place)
        return at(ast.Expr(made), item.place)


def _assign(item: s.Assign, value: ast.expr) -> ast.stmt:
    names: list[ast.expr] = [at(ast.Name(target.name, ast.Store()), target.place) for target in item.targets]
    target = names[0] if len(names) == 1 else at(ast.Tuple(names, ast.Store()), item.place)
    return at(ast.Assign([target], value), item.place)


def _define_call(tensor: ast.expr, body: ast.expr, positions: ast.expr | None, place: Place) -> ast.stmt:
    function = at(ast.Attribute(tensor, "define", ast.Load()), place)
    keywords = [] if positions is None else [at(ast.keyword("at", positions), place)]
    return at(ast.Expr(at(ast.Call(function, [body], keywords), place)), place)


def _with(context: ast.expr, body: list[ast.stmt], place: Place) -> ast.stmt:
    return at(ast.With([ast.withitem(context)], body), place)


def _mentions(node: s.Node, indices: Sequence[s.Node]) -> bool:
    """Whether an index of the left side stands in the node."""
    return bool(_names(node) & {each for index in indices for each in _names(index)})


def _pass(place: Place) -> ast.stmt:
    return at(ast.Pass(), place)


def _names(node: s.Node | None) -> set[str]:
    return set() if node is None else {n.name for n in s.walk(node) if isinstance(n, s.Name)}
