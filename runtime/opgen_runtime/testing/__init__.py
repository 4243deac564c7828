"""Helpers for tests of ops, programs and passes; nothing here needs pytest.

programs.py    run_infer_type, run_opt_pass, count_ops
suite.py       Case, Inferred, Probe, check_values, check_bound: what the generated suites call
inference.py   check_types
interface.py   check_interface, check_refused
data.py        seeded data from specs such as "float32[2, 3]"
compare.py     tolerances
"""

from .compare import assert_close
from .data import Spec, ordinary, special
from .inference import check_types
from .interface import check_interface, check_refused
from .programs import count_ops, run_infer_type, run_opt_pass
from .suite import Case, Inferred, Probe, case_call, check_bound, check_values

__all__ = [
    "Case", "Inferred", "Probe", "Spec", "assert_close", "case_call", "check_bound", "check_interface", "check_refused",
    "check_types", "check_values", "count_ops", "ordinary", "run_infer_type", "run_opt_pass", "special",
]  # fmt: skip
