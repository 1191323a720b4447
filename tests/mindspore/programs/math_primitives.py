"""Arithmetic, comparisons, logic and elementary functions as primitives: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.ops import operations as P

from mindspore_tables import case, numbers

A, B = numbers(2, 3), numbers(3, seed=5, low=0.5)
POSITIVE, INSIDE, ABOVE = numbers(5, low=0.2), numbers(4, low=-0.9, high=0.9), numbers(3, low=1.2, high=3.0)
WHOLE, OTHER = np.array([[7, -3, 12], [5, 0, -8]], np.int32), np.array([2, 5, -3], np.int32)
TRUTH, FALSE = np.array([True, False, True, False]), np.array([True, True, False, False])

#: Primitives of two inputs that broadcast.
TWO = "Add Sub Mul Div RealDiv FloorDiv FloorMod TruncateDiv TruncateMod Maximum Minimum SquaredDifference DivNoNan"
TWO += " MulNoNan Xdivy Hypot Atan2"
for _name in TWO.split():
    globals()[f"case_{_name}_of_floats"] = case(lambda name=_name: getattr(P, name)(), A, B)

for _name in ["Add", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod", "Maximum", "Minimum", "SquaredDifference"]:
    globals()[f"case_{_name}_of_integers"] = case(lambda name=_name: getattr(P, name)(), WHOLE, OTHER, grad=False)

for _name in ["Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "Pow", "FloorDiv"]:
    globals()[f"case_{_name}_of_a_tensor_and_a_number"] = case(
        lambda name=_name: getattr(P, name)(), POSITIVE, constants=(2.5,)
    )
    globals()[f"case_{_name}_of_integers_and_a_float"] = case(
        lambda name=_name: getattr(P, name)(), np.array([3, 1, 2], np.int32), constants=(1.5,), grad=False
    )

for _name in ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]:
    globals()[f"case_{_name}"] = case(
        lambda name=_name: getattr(P, name)(), A, np.array([[0.133], [-1.0]], np.float32), grad=False
    )

for _name in ["LogicalAnd", "LogicalOr", "LogicalXor"]:
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(P, name)(), TRUTH, FALSE, grad=False)

for _name in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(P, name)(), WHOLE, OTHER, grad=False)

#: Primitives of one input, by the numbers that they are defined for.
ONE = {
    "Abs": A, "Neg": A, "Sign": A, "Square": A, "Exp": A, "Expm1": A, "Sin": A, "Cos": A, "Tan": INSIDE, "Sinh": A,
    "Cosh": A, "Tanh": A, "Atan": A, "Asinh": A, "Erf": A, "Erfc": A, "Floor": A, "Ceil": A, "Round": A,
    "Trunc": A, "Sigmoid": A, "Sqrt": POSITIVE, "Rsqrt": POSITIVE, "Log": POSITIVE, "Log1p": POSITIVE,
    "Reciprocal": POSITIVE, "Inv": POSITIVE, "Lgamma": POSITIVE, "Digamma": POSITIVE, "Asin": INSIDE, "ACos": INSIDE,
    "Atanh": INSIDE, "Erfinv": INSIDE, "Acosh": ABOVE, "Identity": A, "OnesLike": A, "ZerosLike": A,
}  # fmt: skip
for _name, _x in ONE.items():
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(P, name)(), _x)

case_Rint = case(lambda: P.Rint(), A, grad=False)
case_Mod = case(lambda: P.Mod(), A, B, grad=(0,))
case_LogicalNot = case(lambda: P.LogicalNot(), TRUTH, grad=False)
case_Invert = case(lambda: P.Invert(), np.array([3, -7, 0], np.int16), grad=False)
case_IsFinite = case(lambda: P.IsFinite(), np.array([1, np.inf, np.nan], np.float32), grad=False)
case_IsNan = case(lambda: P.IsNan(), np.array([1, np.inf, np.nan], np.float32), grad=False)
case_IsInf = case(lambda: P.IsInf(), np.array([1, -np.inf, np.nan], np.float32), grad=False)
case_Pow_of_two_tensors = case(lambda: P.Pow(), POSITIVE, numbers(5, seed=3))
case_Xlogy = case(lambda: P.Xlogy(), np.array([0, 1.5, -2], np.float32), np.array([0.5, 2, 3], np.float32))
case_DivNoNan_by_zero = case(lambda: P.DivNoNan(), np.array([0, 1.5, -2], np.float32), np.array([0, 0, 3], np.float32))
case_Maximum_of_equal_numbers = case(
    lambda: P.Maximum(), np.array([1, 2, 3], np.float32), np.array([1, 5, 3], np.float32)
)
case_Abs_at_zero = case(lambda: P.Abs(), np.array([0, -1.5, 2], np.float32))
case_Sqrt_of_integers = case(lambda: P.Sqrt(), np.array([0, 4, 9], np.int32), grad=False)
case_Lerp = case(lambda: P.Lerp(), A, numbers(2, 3, seed=9), np.array(0.3, np.float32))
case_Addcmul = case(lambda: P.Addcmul(), A, numbers(2, 1, seed=2), numbers(1, 3, seed=4), np.array([0.7], np.float32))
case_Addcdiv = case(
    lambda: P.Addcdiv(), A, numbers(2, 1, seed=2), numbers(1, 3, low=1, seed=4), np.array([0.7], np.float32)
)
case_AddN = case(lambda: P.AddN(), A, numbers(2, 3, seed=1), numbers(2, 3, seed=2), kind="tuple")
case_L2Normalize = case(lambda: P.L2Normalize(axis=1, epsilon=0.01), A)
case_L2Loss = case(lambda: P.L2Loss(), A)
case_SquareSumAll = case(lambda: P.SquareSumAll(), A, numbers(2, 3, seed=8), kind="plain")
case_ApproximateEqual = case(lambda: P.ApproximateEqual(0.5), A, A + np.float32(0.3), grad=False)
case_IsClose = case(lambda: P.IsClose(0.1, 0.1), A, A * np.float32(1.05), grad=False)
case_Logit = case(lambda: P.Logit(0.2), np.array([0.1, 0.4, 0.95], np.float32))
case_NanToNum = case(lambda: P.NanToNum(0.5, 2.0, -3.0), np.array([1, np.nan, np.inf, -np.inf], np.float32), grad=False)
case_half_precision_with_single = case(lambda: P.Mul(), A.astype(np.float16), B)
case_double_with_single = case(lambda: P.Add(), A.astype(np.float64), B)
case_Complex = case(lambda: P.Complex(), A, numbers(2, 3, seed=3), kind="plain", grad=False)


def case_names_and_attributes():
    total = P.ReduceSum(keep_dims=True)
    return P.Add().name, total.name, total.keep_dims, P.MatMul(transpose_b=True).transpose_b, P.Concat(axis=1).axis


def case_numbers_become_tensors():
    return P.Add()(1, 2), P.Mul()(1.5, 2), P.Maximum()(Tensor(2), 3)


def case_operators_and_primitives_give_the_same_gradient():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.add, self.mul, self.sub = P.Add(), P.Mul(), P.Sub()

        def construct(self, x, y):
            return self.mul(self.add(x, 1.0), self.sub(y, x)) + x / y

    return ms.grad(Net(), (0, 1))(Tensor(A), Tensor(B))


def case_the_second_derivative_of_primitives():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sin, self.exp = P.Sin(), P.Exp()

        def construct(self, x):
            return self.sin(x) * self.exp(x)

    return ms.grad(ms.grad(Net()))(Tensor(POSITIVE))
