"""Functions of one card each, which stand beside their cards: `register(function=...)` enters them in `ops.publish`."""

from __future__ import annotations

from typing import Any

from adjoint.ops import incomplete as _incomplete  # noqa: F401  (it enters its functions)
from adjoint.ops import incomplete_beta as _incomplete_beta  # noqa: F401  (so does it)
from adjoint.ops import special_table as _special_table  # noqa: F401  (it enters its cards)
from adjoint.ops import student as _student  # noqa: F401  (so does it)
from adjoint.ops.publish import FUNCTIONS

abs: Any
absolute: Any
acos: Any
acosh: Any
add: Any
arccos: Any
arccosh: Any
arcsin: Any
arcsinh: Any
arctan: Any
arctan2: Any
arctanh: Any
asin: Any
asinh: Any
atan: Any
atan2: Any
atanh: Any
betainc: Any
bitwise_and: Any
bitwise_left_shift: Any
bitwise_not: Any
bitwise_or: Any
bitwise_right_shift: Any
bitwise_xor: Any
cbrt: Any
ceil: Any
conj: Any
cos: Any
cosh: Any
div: Any
divide: Any
eq: Any
equal: Any
erf: Any
erfc: Any
erfinv: Any
exp: Any
expm1: Any
floor: Any
floor_div: Any
floor_divide: Any
floor_mod: Any
floormod: Any
gammaln: Any
ge: Any
greater: Any
greater_equal: Any
gt: Any
imag: Any
isfinite: Any
isnan: Any
le: Any
less: Any
less_equal: Any
lgamma: Any
log: Any
log10: Any
log1p: Any
log2: Any
logaddexp: Any
lt: Any
maximum: Any
minimum: Any
mod: Any
mul: Any
multiply: Any
ne: Any
neg: Any
negative: Any
not_equal: Any
pow: Any
power: Any
real: Any
relu: Any
remainder: Any
sigmoid: Any
sign: Any
sin: Any
sinh: Any
sqrt: Any
sub: Any
subtract: Any
tan: Any
tanh: Any
true_divide: Any
trunc: Any
zeta: Any
globals().update(FUNCTIONS)
