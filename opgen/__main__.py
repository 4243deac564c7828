"""`python -m opgen`."""

from .commands import main

main()
