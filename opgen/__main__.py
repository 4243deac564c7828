"""`python -m opgen`."""

from .commands import program

if __name__ == "__main__":  # the workers of `opgen generate` import this module, too
    program()
