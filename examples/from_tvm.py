"""Runs the programs of `from_tvm/`: some of TVM's documentation and tests, in its spelling.

python examples/from_tvm.py          runs all, and prints what each is
python examples/from_tvm.py -v       and what differs from TVM
"""

import sys

from from_tvm import main  # the package beside this file

if __name__ == "__main__":
    main(sys.argv[1:])
