"""`python -m opgen`."""

from .commands import main

if __name__ == "__main__":  # the workers of `opgen generate` import this module, too
    main()
