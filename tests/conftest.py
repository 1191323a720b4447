"""The tests of the language, the derivatives and the passes run on the reference backend, which compiles at once.

The native backend has its own tests (tests/backends/native), which run the same programs on machine code.
"""

import os

os.environ.setdefault("ADJOINT_BACKEND", "interpreter")
