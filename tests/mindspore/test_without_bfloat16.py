"""Without the package that has bfloat16 its name is there, and all that does not compute with it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import adjoint.mindspore as mindspore
from adjoint.mindspore import Tensor, amp, coverage, nn

print(mindspore.bfloat16, [mindspore.bfloat16], {mindspore.bfloat16: 1}, Tensor([1.0]).dtype in (mindspore.bfloat16, mindspore.int8))
print(mindspore.bfloat16 == np.dtype("float32"), mindspore.float16 == mindspore.bfloat16)
print(nn.Dense(2, 3).to_float(mindspore.float16)(Tensor([[1.0, 2.0]])).dtype)
print(amp.auto_mixed_precision(nn.Dense(2, 3), "O2")(Tensor([[1.0, 2.0]])).dtype)
print("mindspore" in coverage.absent_names(coverage.public_names()))
try:
    Tensor([1.0], mindspore.bfloat16)
except ImportError as error:
    print(error)
"""

PRINTED = """
BFloat16 [mindspore.bfloat16] {mindspore.bfloat16: 1} False
False False
Float16
Float32
True
bfloat16 needs the package ml_dtypes: pip install adjoint[bfloat16]
"""


def test_only_computing_with_it_needs_the_package() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (found.stdout.strip(), found.stderr) == (PRINTED.strip(), "")
