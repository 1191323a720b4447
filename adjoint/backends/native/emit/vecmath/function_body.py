"""Writing the body of one LLVM function: values with operators, of any width, in single or double precision."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BITS = {"float": 32, "double": 64}
MANTISSA = {"float": 23, "double": 52}
PREFIX = "adj"


@dataclass(frozen=True, eq=False, slots=True)
class VectorValue:
    """An SSA value. `kind` is `float`, `int` (of the same number of bits) or `mask` (one bit)."""

    code: FunctionBody
    kind: str
    text: str

    def _with(self, op: dict[str, str], other: VectorValue | float) -> VectorValue:
        rhs = self.code.const(other, self.kind) if isinstance(other, (int, float)) else other
        return self.code.emit(f"{op[self.kind]} {self.code.type(self.kind)} {self.text}, {rhs.text}", self.kind)

    def _compare(self, how: str, other: VectorValue | float) -> VectorValue:
        rhs = self.code.const(other, self.kind) if isinstance(other, (int, float)) else other
        op = f"fcmp o{how}" if self.kind == "float" else f"icmp {'' if how == 'eq' else 's'}{how}"
        return self.code.emit(f"{op} {self.code.type(self.kind)} {self.text}, {rhs.text}", "mask")

    def __add__(self, other: VectorValue | float) -> VectorValue:
        return self._with({"float": "fadd", "int": "add"}, other)

    def __sub__(self, other: VectorValue | float) -> VectorValue:
        return self._with({"float": "fsub", "int": "sub"}, other)

    def __rsub__(self, other: float) -> VectorValue:
        return self.code.const(other, self.kind) - self

    def __mul__(self, other: VectorValue | float) -> VectorValue:
        return self._with({"float": "fmul"}, other)

    def __truediv__(self, other: VectorValue | float) -> VectorValue:
        return self._with({"float": "fdiv"}, other)

    def __rtruediv__(self, other: float) -> VectorValue:
        return self.code.const(other) / self

    def __neg__(self) -> VectorValue:
        return self.code.emit(f"fneg {self.code.type('float')} {self.text}", "float")

    def __and__(self, other: VectorValue | int) -> VectorValue:
        return self._with({"int": "and", "mask": "and"}, other)

    def __or__(self, other: VectorValue | int) -> VectorValue:
        return self._with({"int": "or", "mask": "or"}, other)

    def __xor__(self, other: VectorValue | int) -> VectorValue:
        return self._with({"int": "xor", "mask": "xor"}, other)

    def __lshift__(self, count: int) -> VectorValue:
        return self._with({"int": "shl"}, count)

    def __rshift__(self, count: int) -> VectorValue:
        """A logical shift: AVX2 has no arithmetic one for 64 bits."""
        return self._with({"int": "lshr"}, count)

    def __lt__(self, other: VectorValue | float) -> VectorValue:
        return self._compare("lt", other)

    def __le__(self, other: VectorValue | float) -> VectorValue:
        return self._compare("le", other)

    def __gt__(self, other: VectorValue | float) -> VectorValue:
        return self._compare("gt", other)

    def __ge__(self, other: VectorValue | float) -> VectorValue:
        return self._compare("ge", other)

    def equals(self, other: VectorValue | float) -> VectorValue:
        """Lanes where both are equal; a NaN equals nothing."""
        return self._compare("eq", other)

    def bits(self) -> VectorValue:
        """The same bits as integers."""
        return self.code.emit(f"bitcast {self.code.type('float')} {self.text} to {self.code.type('int')}", "int")

    def floats(self) -> VectorValue:
        """The same bits as floats."""
        return self.code.emit(f"bitcast {self.code.type('int')} {self.text} to {self.code.type('float')}", "float")


@dataclass
class FunctionBody:
    """The lines of a function under construction, and what it needs declared or defined beside it."""

    dtype: str
    width: int
    lines: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def mantissa(self) -> int:
        """Stored bits of the mantissa."""
        return MANTISSA[self.dtype]

    @property
    def bias(self) -> int:
        """The exponent field of 1.0."""
        return 127 if self.dtype == "float" else 1023

    @property
    def suffix(self) -> str:
        """The type as intrinsics and our own functions spell it: `f32`, `v8f64`."""
        return ("" if self.width == 1 else f"v{self.width}") + f"f{BITS[self.dtype]}"

    def type(self, kind: str = "float") -> str:
        """The LLVM type of a kind of value."""
        scalar = {"float": self.dtype, "int": f"i{BITS[self.dtype]}", "mask": "i1"}[kind]
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def emit(self, instruction: str, kind: str) -> VectorValue:
        """Append an instruction and name its result."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return VectorValue(self, kind, name)

    def rounded(self, number: float) -> float:
        """A number as this precision holds it."""
        return struct.unpack("f", struct.pack("f", number))[0] if self.dtype == "float" else number

    def const(self, number: float, kind: str = "float") -> VectorValue:
        """A number in every lane."""
        if kind == "float":
            text = f"0x{struct.unpack('Q', struct.pack('d', self.rounded(number)))[0]:016X}"
        else:
            text = str(number).lower()
        scalar = {"float": self.dtype, "int": f"i{BITS[self.dtype]}", "mask": "i1"}[kind]
        return VectorValue(self, kind, text if self.width == 1 else f"splat ({scalar} {text})")

    def call(self, name: str, *args: VectorValue) -> VectorValue:
        """An intrinsic of floats, such as `fma` or `sqrt`."""
        symbol, ty = f"llvm.{name}.{self.suffix}", self.type()
        self.beside[symbol] = f"declare {ty} @{symbol}({', '.join([ty] * len(args))})"
        return self.emit(f"call {ty} @{symbol}({', '.join(f'{ty} {a.text}' for a in args)})", "float")

    def fma(self, a: VectorValue, b: VectorValue | float, c: VectorValue | float) -> VectorValue:
        """a·b + c, rounded once."""
        b, c = (self.const(v) if isinstance(v, (int, float)) else v for v in (b, c))
        return self.call("fma", a, b, c)

    def abs(self, x: VectorValue) -> VectorValue:
        """The magnitude."""
        return self.call("fabs", x)

    def sqrt(self, x: VectorValue) -> VectorValue:
        """The square root, correctly rounded."""
        return self.call("sqrt", x)

    def copysign(self, x: VectorValue, sign: VectorValue) -> VectorValue:
        """The magnitude of `x` with the sign of `sign`."""
        return self.call("copysign", x, sign)

    def select(self, mask: VectorValue, yes: VectorValue | float, no: VectorValue | float) -> VectorValue:
        """`yes` where the mask is set, else `no`."""
        yes, no = (self.const(v) if isinstance(v, (int, float)) else v for v in (yes, no))
        ty = self.type(yes.kind)
        return self.emit(f"select {self.type('mask')} {mask.text}, {ty} {yes.text}, {ty} {no.text}", yes.kind)

    def clamp(self, x: VectorValue, low: float, high: float) -> VectorValue:
        """`x` kept inside bounds; NaN stays NaN (as it would not with minnum)."""
        x = self.select(x < low, low, x)
        return self.select(x > high, high, x)

    def horner(self, x: VectorValue, coefficients: Sequence[float]) -> VectorValue:
        """The sum of c[i] x^i, from the highest power down."""
        result = self.fma(x, self.const(coefficients[-1]), coefficients[-2])
        for c in reversed(coefficients[:-2]):
            result = self.fma(result, x, c)
        return result

    def polynomial(self, x: VectorValue, coefficients: Sequence[float]) -> VectorValue:
        """The same; a long one as even and odd powers side by side, which halves the time that one lane waits."""
        if len(coefficients) < 8:
            return self.horner(x, coefficients)
        square = x * x
        return self.fma(self.horner(square, coefficients[1::2]), x, self.horner(square, coefficients[::2]))

    def round(self, x: VectorValue, factor: float = 1.0) -> tuple[VectorValue, VectorValue]:
        """The integer nearest to x·factor, as a float and as bits of which only the low half counts.

        Adding 1.5·2^mantissa leaves the integer in the low bits: cheaper than a conversion, which AVX2 lacks for double.
        """
        magic = 1.5 * 2.0**self.mantissa
        shifted = self.fma(x, factor, magic)
        return shifted - magic, shifted.bits()

    def power_of_two(self, k: VectorValue) -> VectorValue:
        """2^k where that is a normal number; only the low bits of `k` count."""
        return ((k + self.bias) << self.mantissa).floats()

    def scale(self, x: VectorValue, k: VectorValue) -> VectorValue:
        """x·2^k, `k` as from `round`, in two steps: a subnormal result is rounded once, and 2^k may be too large."""
        half = k >> 1
        return x * self.power_of_two(half) * self.power_of_two(k - half)

    def in_double(self, kernel: Kernel, *args: VectorValue) -> VectorValue:
        """The result of a kernel worked out in double precision."""
        inner = FunctionBody("double", self.width, self.lines, self.beside)
        wide = [inner.emit(f"fpext {self.type()} {a.text} to {inner.type()}", "float") for a in args]
        return self.emit(f"fptrunc {inner.type()} {kernel(inner, *wide).text} to {self.type()}", "float")

    def sign_of(self, x: VectorValue) -> VectorValue:
        """The sign bit alone."""
        return x.bits() & -(1 << (BITS[self.dtype] - 1))

    def lanes_of(self, libm: str, x: VectorValue, where: VectorValue, fast: VectorValue) -> VectorValue:
        """`fast`, with the lanes `where` replaced by a libm call each: a branch that is seldom taken."""
        symbol = f"{PREFIX}_{libm}_lanes_{self.suffix}"
        self.beside[libm] = f"declare double @{libm}(double) nounwind willreturn memory(none)"
        self.beside[symbol] = _lane_loop(self, symbol, libm)
        any_lane = where.text
        if self.width > 1:
            reduce = f"llvm.vector.reduce.or.v{self.width}i1"
            self.beside[reduce] = f"declare i1 @{reduce}({self.type('mask')})"
            any_lane = self.emit(f"call i1 @{reduce}({self.type('mask')} {where.text})", "mask").text
        self.lines += [f"  br i1 {any_lane}, label %slow, label %done", "slow:"]
        slow = self.select(where, self.emit(f"call {self.type()} @{symbol}({self.type()} {x.text})", "float"), fast)
        self.lines += ["  br label %done", "done:"]
        return self.emit(f"phi {self.type()} [ {fast.text}, %entry ], [ {slow.text}, %slow ]", "float")


def _lane_loop(code: FunctionBody, symbol: str, libm: str) -> str:
    """A function that calls libm for every lane, in double precision."""
    inner = FunctionBody(code.dtype, code.width)
    result = "poison"
    for lane in range(code.width):
        x = inner.emit(f"extractelement {code.type()} %x, i32 {lane}", "float").text if code.width > 1 else "%x"
        if code.dtype == "float":
            x = inner.emit(f"fpext float {x} to double", "float").text
        y = inner.emit(f"call double @{libm}(double {x})", "float").text
        if code.dtype == "float":
            y = inner.emit(f"fptrunc double {y} to float", "float").text
        insert = f"insertelement {code.type()} {result}, {code.dtype} {y}, i32 {lane}"
        result = inner.emit(insert, "float").text if code.width > 1 else y
    head = f"define internal {code.type()} @{symbol}({code.type()} %x) noinline nounwind willreturn memory(none) {{"
    return "\n".join([head, *inner.lines, f"  ret {code.type()} {result}", "}"])


Kernel = Callable[..., VectorValue]
