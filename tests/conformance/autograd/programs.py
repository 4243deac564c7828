"""Compositions of ops: losses of networks, tuples, indexing, branches, gradients of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.ir import Function, If, Let, Var, const

from .example import Draw, Example, Make, Rows


def programs(t: Any) -> Rows:
    f = t.nn.functional

    def mlp(draw: Draw) -> Example:
        n, i, h, o = (draw.integer(1, 6) for _ in range(4))
        arrays = [draw.normal(s) for s in ((n, i), (i, h), (h,), (h, o), (o,))]
        ours = lambda x, a, b, c, d: np.mean(np.square(ops.softmax(np.tanh(x @ a + b) @ c + d)))  # noqa: E731
        return Example(
            arrays, ours, lambda x, a, b, c, d: ((t.tanh(x @ a + b) @ c + d).softmax(-1) ** 2).mean()
        )

    yield "program: two layers", mlp

    def block(draw: Draw) -> Example:
        n, h, s, e = (draw.integer(1, 4) for _ in range(4))
        arrays = [draw.normal((n, s, h * e)), *[draw.normal((h * e, h * e)) * 0.4 for _ in range(4)]]
        arrays += [draw.normal((h * e,)), draw.normal((h * e,))]

        def run(
            x: Any, q: Any, k: Any, v: Any, o: Any, norm: Callable[[Any], Any], soft: Any, swap: Any
        ) -> Any:
            def heads(y: Any) -> Any:
                return swap(y.reshape((n, s, h, e)), 1, 2)

            z = norm(x)
            weights = soft(heads(z @ q) @ swap(heads(z @ k), -1, -2) / e**0.5)
            return x + swap(weights @ heads(z @ v), 1, 2).reshape((n, s, h * e)) @ o

        def ours(x: Any, q: Any, k: Any, v: Any, o: Any, g: Any, b: Any) -> Any:
            return run(x, q, k, v, o, lambda y: ops.layer_norm(y, g, b), ops.softmax, np.swapaxes)

        def theirs(x: Any, q: Any, k: Any, v: Any, o: Any, g: Any, b: Any) -> Any:
            norm = lambda y: f.layer_norm(y, (h * e,), g, b)  # noqa: E731
            return run(x, q, k, v, o, norm, lambda y: y.softmax(-1), t.swapaxes)

        return Example(arrays, ours, theirs, f"{(n, h, s, e)}")

    yield "program: a transformer's attention", block

    def convolutions(draw: Draw) -> Example:
        arrays = [
            draw.normal((2, 2, 8, 8)),
            draw.normal((4, 2, 3, 3)),
            draw.normal((4,)),
            draw.normal((6, 4, 2, 2)),
        ]

        def ours(x: Any, w: Any, b: Any, v: Any) -> Any:
            x = ops.relu(ops.bias_add(ops.conv2d(x, w, padding=(1, 1)), b))
            x = ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
            return ops.log_softmax(ops.conv2d(x, v, strides=(2, 2)).mean(axis=(2, 3)))

        def theirs(x: Any, w: Any, b: Any, v: Any) -> Any:
            x = f.max_pool2d(f.relu(f.conv2d(x, w, b, padding=1)), 2)
            return f.conv2d(x, v, stride=2).mean((2, 3)).log_softmax(-1)

        return Example(arrays, ours, theirs)

    yield "program: convolutions", convolutions
    yield from _bodies(t)


def _bodies(t: Any) -> Rows:
    def loop(draw: Draw) -> Example:
        steps = draw.integer(1, 6)

        def run(x: Any, v: Any, k: Any) -> Any:
            total = 0.0
            for _ in range(steps):
                v = v - 0.1 * (k * x + 0.05 * x * x * x)
                x = x + 0.1 * v
                total = total + (0.5 * v * v + 0.5 * k * x * x).sum()
            return total

        return Example([draw.normal((5,)), draw.normal((5,)), draw.normal(())], run, run, str(steps))

    yield "program: oscillators", loop

    def indexing(draw: Draw) -> Example:
        x = draw.normal((4, 6, 3))
        rows = draw.integers(4, (5,))
        at = t.from_numpy(rows)

        def ours(x: Any) -> Any:
            return (x[rows, ::-1, None] * x[0, :, None]).sum(axis=-1), x[..., 1:3] ** 2

        def theirs(x: Any) -> Any:
            return (x[at].flip(1)[:, :, None] * x[0, :, None]).sum(-1), x[..., 1:3] ** 2

        return Example([x], ours, theirs)

    yield "program: indexing", indexing

    def shared(draw: Draw) -> Example:
        x = draw.uniform(0.2, 2.0, draw.shape(2, 3))

        def run(exp: Any, log: Any, split: Any, cat: Any) -> Callable[[Any], Any]:
            def body(x: Any) -> Any:
                y = exp(x)
                parts = split(cat((y, x * y, log(x))))
                return parts[0] * parts[2] + y, parts[1] / y

            return body

        ours = run(
            np.exp, np.log, lambda z: ops.split(z, indices_or_sections=3), lambda z: ops.concatenate(list(z))
        )
        return Example([x], ours, run(t.exp, t.log, lambda z: z.chunk(3), t.cat))

    yield "program: values with several users", shared
    yield from _twice(t)


def _twice(t: Any) -> Rows:
    def second(draw: Draw) -> Example:
        x = draw.normal((4, 3))

        def ours(x: Any) -> Any:
            return rt.grad(lambda y: ops.sum(ops.tanh(ops.softmax(y * y)) * y))(x)

        def theirs(x: Any) -> Any:
            value = (t.tanh((x * x).softmax(-1)) * x).sum()
            return t.autograd.grad(value, x, create_graph=True)[0]

        return Example([x], ours, theirs)

    yield "program: a gradient of a gradient", second

    def penalty(draw: Draw) -> Example:
        arrays = [draw.normal((5, 4)), draw.normal((4, 3)), draw.normal((3, 1))]

        def ours(x: Any, w: Any, v: Any) -> Any:
            slope = rt.grad(lambda y: (np.tanh(y @ w) @ v).sum())(x)
            return ((slope * slope).sum(axis=1) ** 0.5 - 1.0) ** 2

        def theirs(x: Any, w: Any, v: Any) -> Any:
            slope = t.autograd.grad((t.tanh(x @ w) @ v).sum(), x, create_graph=True)[0]
            return ((slope * slope).sum(1) ** 0.5 - 1.0) ** 2

        return Example(arrays, ours, theirs)

    yield "program: a penalty of a gradient", penalty
    yield "program: a branch", _branch(t)
    yield "program: random ops", _random(t)


def _branch(t: Any) -> Make:
    def make(draw: Draw) -> Example:
        x = draw.normal((4,))
        chosen = draw.chance()

        def ours(x: Any) -> Any:
            from opgen_runtime.ir import expr_of
            from opgen_runtime.run.calls.tracing.tracer import wrap

            given = expr_of(x)
            inner = Var("y", given.checked_type)
            twice = Function((inner,), ops.multiply(inner, ops.sin(inner)))
            bound = Var("t", given.checked_type)
            branch = If(const(np.asarray(chosen)), ops.multiply(bound, given), twice(ops.add(bound, given)))
            return wrap(Let(bound, ops.exp(given), branch))

        def theirs(x: Any) -> Any:
            bound = x.exp()
            return bound * x if chosen else (bound + x) * t.sin(bound + x)

        return Example([x], ours, theirs, str(chosen))

    return make


def _random(t: Any) -> Make:
    """A chain of a few ops over values that are known by then."""
    steps: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
        (np.tanh, t.tanh),
        (ops.sigmoid, t.sigmoid),
        (lambda x: ops.softmax(x, axis=0), lambda x: x.softmax(0)),
        (lambda x: np.transpose(x), lambda x: x.mT),
        (lambda x: x[::-1, 1:], lambda x: x.flip(0)[:, 1:]),
        (lambda x: np.cumsum(x, axis=1), lambda x: x.cumsum(1)),
        (lambda x: x - x.mean(axis=0), lambda x: x - x.mean(0)),
        (lambda x: x * x.max(axis=1, keepdims=True), lambda x: x * x.amax(1, keepdim=True)),
        (lambda x: np.concatenate([x, x * 2.0], axis=1), lambda x: t.cat([x, x * 2.0], 1)),
        (lambda x: np.where(x > 0.0, x, x * 0.1), lambda x: t.where(x > 0.0, x, x * 0.1)),
        (lambda x: x @ np.transpose(x), lambda x: x @ x.mT),
        (lambda x: ops.logsumexp(x, axis=1, keepdims=True) + x, lambda x: x.logsumexp(1, keepdim=True) + x),
        (lambda x: np.sqrt(1.0 + x * x), lambda x: t.sqrt(1.0 + x * x)),
        (lambda x: x.reshape((-1, x.shape[0])), lambda x: x.reshape((-1, x.shape[0]))),
        (lambda x: np.std(x, axis=0) + x, lambda x: x.std(0, correction=0) + x),
    )

    def make(draw: Draw) -> Example:
        chosen = [draw.integer(0, len(steps) - 1) for _ in range(draw.integer(3, 7))]
        width = 9

        def run(side: int) -> Callable[[Any], Any]:
            def body(x: Any) -> Any:
                for k in chosen:
                    x = steps[k][side](x)
                return x

            return body

        return Example([draw.normal((4, width))], run(0), run(1), str(chosen), 1e-7)

    return make
