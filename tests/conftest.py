"""What holds for every test: none depends on how busy the machine is."""

from importlib.util import find_spec

if find_spec("hypothesis"):  # the generated suites run without it
    from hypothesis import settings

    settings.register_profile("opgen", deadline=None)
    settings.load_profile("opgen")
