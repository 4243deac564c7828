"""What a change of a declaration means for those who call the op.

version.py   one version of an op, ready to be called
stated.py    changes of what is stated: operands, attrs, results, the rest
shown.py     changes that calls of both versions show: bounds, shapes, dtypes, values
versions.py  all ops of two versions of a project
"""

from .change import Change
from .versions import Comparison, compare_projects

__all__ = ["Change", "Comparison", "compare_projects"]
