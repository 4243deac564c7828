"""Helpers for tests of ops, programs and passes; nothing here needs pytest.

suite.py       Suite: the base of the generated suites, whose tests are here and whose cases are text
lines.py       that text: one call a line
cases.py       Case, Inferred, Probe: calls of an op
values.py      check_values
bounds.py      check_bound
inference.py   check_types
interface.py   check_interface, check_refused
programs.py    run_infer_type, run_opt_pass, count_ops
data.py        seeded data from specs such as "float32[2, 3]"
made.py        what words ask of it: "float32[5] sorted", "float32[4, 4] spd"
compare.py     tolerances
rewrites.py    RewriteSuite: the base of the suites of declared rewrites
rule_trial.py  rules tried on calls of many kinds (rule_samples.py), before passes are generated of them
"""

from .bounds import check_bound
from .cases import Case, Inferred, Probe, case_call
from .compare import assert_close
from .data import Spec, ordinary, special
from .inference import check_types
from .interface import check_interface, check_refused
from .programs import count_ops, run_infer_type, run_opt_pass
from .suite import Suite, suite_of
from .values import check_values

__all__ = [
    "Case", "Inferred", "Probe", "Spec", "Suite", "assert_close", "case_call", "check_bound", "check_interface",
    "check_refused", "check_types", "check_values", "count_ops", "ordinary", "run_infer_type", "run_opt_pass",
    "special", "suite_of",
]  # fmt: skip
