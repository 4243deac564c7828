"""One OpDef to a CheckedOp: names, signature, attrs, code, tests, then everything that running it shows."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from contextlib import ExitStack

from opgen_runtime.base.errors import AttrError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.operator import parse_layout

from ..diagnostics import Diagnostics, Edit, Suggestion, did_you_mean
from ..document import TextNode
from ..expression.allowed import BUILTINS
from ..expression.reference import check_reference
from ..expression.scope import Namespace
from ..expression.translate import Translator, make_lambda
from ..model import CheckedAttr, CheckedCallee, CheckedOp, CheckedSignature, CheckedStrategy
from ..model.opdef import OpDef, StrategyDef
from .callees import Callees, compute_function, op_calls
from .cases.example import example_case
from .cases.inferred import inferred_operands
from .cases.refused import refused_cases
from .cases.sampled import sample_cases, variations
from .names.namespace import resolve_names
from .proofs.assemble import Assembled, Assembler
from .proofs.defaults import check_defaults
from .proofs.ends import check_ends
from .proofs.findings import Finder, report, steps_of_build
from .proofs.formulas import formulas
from .proofs.gradients import gradient_kinds, takes_first
from .proofs.probes import find_probes
from .proofs.remainder import sound_part
from .proofs.run import Checked, failures, run
from .proofs.trials import Trials
from .signatures.attrs import check_attrs
from .signatures.decompositions import check_decompositions
from .signatures.externs import ExternRoots, check_extern, check_kernel
from .signatures.gradients import check_gradients
from .signatures.signature import check_signature
from .signatures.tests import check_cases
from .signatures.upgrades import check_upgrades


def check_op(
    op: OpDef,
    family: str,
    roots: ExternRoots,
    known_ops: Mapping[str, str],
    callees: Callees,
    diagnostics: Diagnostics,
) -> CheckedOp | None:
    """The checked op, or None if anything was reported."""
    closing = ExitStack()  # lets go of what was needed for it
    closing.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")  # what Python warns of in a declaration's code is found where it is run
    try:
        before, first = diagnostics.count, len(diagnostics.found)
        namespace = resolve_names(op, diagnostics)
        _check_arity(op, diagnostics)
        attrs = check_attrs(op, namespace, diagnostics)
        check_defaults(op, attrs, diagnostics)
        signature = check_signature(op, attrs, namespace, known_ops, diagnostics)
        wrong = [finding.place for finding in diagnostics.found[first:]]
        strategy = tuple(_strategy(op, entry, namespace, roots, diagnostics) for entry in op.strategy)
        arguments = [operand.name for operand in op.inputs] + [attr.name for attr in op.attrs]
        extern = None if op.extern is None else check_extern(op.extern, roots, arguments, diagnostics)
        expression = (
            None if op.expression is None else check_extern(op.expression, roots, arguments, diagnostics)
        )
        if op.relation.extern is not None:
            check_extern(op.relation.extern, roots, ["types", "num_inputs", "attrs", "reporter"], diagnostics)
        reference = None
        if op.reference is not None:
            outputs = [output.name for output in op.outputs]
            lost = sorted(op.lost - BUILTINS) if op.partial else []
            reference = check_reference(
                op.reference, [*arguments, *lost], outputs, op.reference.place, diagnostics
            )
        gradients = check_gradients(op, namespace, known_ops, diagnostics)
        decompositions = check_decompositions(op, namespace, known_ops, diagnostics)
        upgrades = check_upgrades(op, roots, known_ops, diagnostics)
        cases = check_cases(op, attrs, diagnostics)
        called = callees.of(op, diagnostics)
        if diagnostics.count > before or op.partial:
            rest = sound_part(op, wrong)
            if rest is not None:
                trials = _trials(rest, signature, attrs, compute_function(rest, namespace, known_ops), called)
                closing.callback(trials.close)
                finder = Finder(trials, frozenset(diagnostics.sources))
                report(failures(trials, finder, attrs, cases), diagnostics)
            return None
        compute = None if op.compute is None else compute_function(op, namespace, known_ops)
        try:
            trials = _trials(op, signature, attrs, compute, called)
        except RecursionError:
            diagnostics.error(
                "limit", "the expressions are nested too deeply; give parts of them names", op.place
            )
            return None
        closing.callback(trials.close)
        finder = Finder(trials, frozenset(diagnostics.sources))
        checked = run(trials, finder, attrs, cases)
        if not isinstance(checked, Checked):
            report(checked, diagnostics)
            return None
        pattern, reason = checked.pattern, checked.reason
        if op.expression is not None:
            pattern = OpPattern.OPAQUE if op.pattern is None else OpPattern[op.pattern.value.upper()]
            reason = "as declared; held against what the function gives"
        elif not _check_pattern(op, pattern, reason, diagnostics):
            return None
        probes = find_probes(trials, checked.bound, attrs)
        report(check_ends(trials, finder, checked.bound, attrs, probes), diagnostics)
        if diagnostics.count > before:
            return None
        varied = list(variations(signature, attrs, cases, probes))
        sampled = sample_cases(trials, varied, cases)
        kinds = gradient_kinds(op, trials, checked.bound, gradients)
        example = example_case(cases)
        return CheckedOp(
            name=op.name,
            doc=op.doc,
            support_level=op.support_level,
            since=op.since,
            version=op.version,
            upgrades=upgrades,
            deprecated=op.deprecated,
            arity=_arity(op),
            attrs=attrs,
            signature=signature,
            compute=compute,
            extern=extern,
            expression=expression,
            formula=op.compute_text,
            let_text=op.let_text,
            reference=reference,
            tests=cases,
            probes=probes,
            traits=op.traits,
            strategy=strategy,
            gradients=gradients,
            decompositions=decompositions,
            gradient_kinds=kinds,
            pattern=pattern,
            pattern_reason=reason,
            family=family,
            source=op.path,
            document=op.document,
            line=op.place.line,
            extends=op.extends,
            digest=op.digest,
            calls=tuple(dict.fromkeys(known_ops[node.op.name] for node in op_calls(op.compute or ()))),
            callees=called,
            sampled=sampled,
            example_number=example,
            formulas=formulas(trials, checked.bound[example], kinds, takes_first(op)),
            refused=refused_cases(trials, signature, varied, cases),
            inferred=inferred_operands(trials, (*cases, *sampled)),
        )
    finally:
        closing.close()


def _arity(op: OpDef) -> int:
    return -1 if any(operand.variadic for operand in op.inputs) else len(op.inputs)


def _check_arity(op: OpDef, diagnostics: Diagnostics) -> None:
    if op.arity is not None and op.arity != _arity(op):
        text = f"arity is declared as {op.arity}, but the inputs make it {_arity(op)}"
        counted = Suggestion(f"write `{_arity(op)}`, or leave it out", Edit(str(_arity(op))))
        diagnostics.error("arity-mismatch", text, op.arity_place, counted)


def _trials(
    op: OpDef,
    signature: CheckedSignature,
    attrs: tuple[CheckedAttr, ...],
    compute: ast.FunctionDef | None,
    called: Mapping[str, CheckedCallee],
) -> Trials:
    assembler = Assembler(called)
    made = assembler.attrs(op.name, attrs)
    assembled = Assembled(
        assembler.signature(signature, attrs, made),
        None if compute is None else assembler.compute(compute),
        made,
    )
    return Trials(op, signature, assembled, assembler, steps_of_build(op))


def _strategy(
    op: OpDef, entry: StrategyDef, namespace: Namespace, roots: ExternRoots, diagnostics: Diagnostics
) -> CheckedStrategy:
    if entry.schedule is not None:
        _check_schedule(entry.schedule, roots, diagnostics)
    if entry.kernel is not None:
        _check_kernel(op, entry.kernel, roots, diagnostics)
    when = None
    if entry.when is not None:
        body = Translator(namespace, static=True).expression(entry.when, {})
        when = make_lambda(namespace.used(entry.when), body, entry.when.place)
    target = "" if entry.target is None else entry.target.value
    layouts = _asked_layouts(op, entry, diagnostics)
    schedule, kernel = ("" if each is None else each.value for each in (entry.schedule, entry.kernel))
    return CheckedStrategy(
        entry.name.value, target, schedule, kernel, when, entry.when_text, entry.plevel, layouts
    )


def _check_schedule(schedule: TextNode, roots: ExternRoots, diagnostics: Diagnostics) -> None:
    if ":" in schedule.value:
        check_extern(schedule, roots, ["outputs", "target"], diagnostics)
    elif not schedule.value.replace(".", "_").isidentifier():
        text = f"`{schedule.value[:60]}` is neither a schedule of the library nor `package.module:function`"
        diagnostics.error("strategy", text, schedule.place)


def _check_kernel(op: OpDef, kernel: TextNode, roots: ExternRoots, diagnostics: Diagnostics) -> None:
    """A kernel is there, and computes the one result of the op."""
    if len(op.outputs) != 1 or op.outputs[0].variadic is not None or op.dynamic:
        text = "a kernel computes one result, whose size does not depend on data"
        diagnostics.error("strategy", text, kernel.place)
    check_kernel(kernel, roots, diagnostics)


def _asked_layouts(op: OpDef, entry: StrategyDef, diagnostics: Diagnostics) -> dict[str, str]:
    """The layouts that an entry asks for, by the layout attrs of the op's inputs."""
    known = {each.layout.attr.value: each.layout.canonical.value for each in op.inputs if each.layout}
    for attr, layout in entry.layouts.items():
        if attr not in known:
            text = f"no input has a layout `{attr[:40]}`; layouts are {', '.join(known) or 'none'}"
            diagnostics.error("strategy", text, layout.place, did_you_mean(attr, known))
            continue
        try:
            letters = parse_layout(layout.value).canonical_names
        except AttrError as error:
            diagnostics.error("strategy", str(error), layout.place)
            continue
        if sorted(letters) != sorted(known[attr]):
            text = f"layout `{layout.value[:40]}` does not have the axes of `{known[attr]}`"
            diagnostics.error("strategy", text, layout.place)
    return {attr: layout.value for attr, layout in entry.layouts.items()}


def _check_pattern(op: OpDef, pattern: OpPattern, reason: str, diagnostics: Diagnostics) -> bool:
    if op.pattern is None or op.pattern.value == pattern.name.lower():
        return True
    text = f"the pattern is declared `{op.pattern.value}`, but it is `{pattern.name.lower()}`: {reason}"
    derived = Suggestion(f"write `{pattern.name.lower()}`, or leave it out", Edit(pattern.name.lower()))
    diagnostics.error("pattern-mismatch", text, op.pattern.place, derived)
    return False
