"""What holds for every test: none depends on how busy the machine is, and a defect of ours ends the call."""

import os
from importlib.util import find_spec

os.environ.setdefault("OPGEN_DEFECTS", "raise")

if find_spec("hypothesis"):  # the generated suites run without it
    from hypothesis import settings

    settings.register_profile("opgen", deadline=None)
    settings.load_profile("opgen")
