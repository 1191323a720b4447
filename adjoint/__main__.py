"""`python -m adjoint`: the command line."""

import sys

from adjoint.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
