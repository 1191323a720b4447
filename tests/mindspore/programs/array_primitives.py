"""Primitives that make, move, join, cut, pick and scatter elements: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.ops import operations as P

from mindspore_tables import case, numbers

X, Y, V = numbers(2, 3, 4), numbers(3, 4, seed=2), numbers(5, seed=3)
IMAGE = numbers(2, 4, 2, 4, seed=6)
I = np.array([2, 0, 2], np.int32)
SEGMENTS = np.array([0, 2, 0], np.int32)
PLACES = np.array([[0, 1], [2, 3], [0, 1]], np.int32)
MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, True, False]])

case_Reshape = case(lambda: P.Reshape(), X, constants=((4, -1),))
case_Flatten = case(lambda: P.Flatten(), X)
case_ExpandDims = case(lambda: P.ExpandDims(), Y, constants=(1,))
case_ExpandDims_at_the_end = case(lambda: P.ExpandDims(), Y, constants=(-1,))
case_Squeeze = case(lambda: P.Squeeze(), numbers(1, 3, 1, 2))
case_Squeeze_of_one_axis = case(lambda: P.Squeeze(2), numbers(1, 3, 1, 2))
case_Squeeze_of_two_axes = case(lambda: P.Squeeze((0, 2)), numbers(1, 3, 1, 2))
case_Transpose = case(lambda: P.Transpose(), X, constants=((2, 0, 1),))
case_Concat = case(lambda: P.Concat(), Y, numbers(2, 4), kind="tuple")
case_Concat_along_an_axis = case(lambda: P.Concat(1), Y, numbers(3, 2), numbers(3, 1), kind="tuple")
case_Stack = case(lambda: P.Stack(), V, V + 1, V * 2, kind="tuple")
case_Stack_along_an_axis = case(lambda: P.Stack(axis=1), Y, Y * 3, kind="tuple")
case_Pack = case(lambda: P.Pack(axis=-1), Y, Y * 3, kind="tuple")
case_Unstack = case(lambda: P.Unstack(axis=1), Y, kind="second")
case_Unpack = case(lambda: P.Unpack(), Y, kind="first")
case_Split = case(lambda: P.Split(1, 2), Y, kind="first")
case_Split_into_single_rows = case(lambda: P.Split(0, 3), Y, kind="second")
case_Tile = case(lambda: P.Tile(), Y, constants=((2, 1),))
case_Tile_to_more_axes = case(lambda: P.Tile(), V, constants=((2, 1, 3),))
case_BroadcastTo = case(lambda: P.BroadcastTo((2, 3, 5)), V)
case_BroadcastTo_keeping_sizes = case(lambda: P.BroadcastTo((2, -1, -1)), Y)
case_Slice = case(lambda: P.Slice(), X, constants=((0, 1, 2), (2, 2, 1)))
case_StridedSlice = case(lambda: P.StridedSlice(), X, constants=((0, 0, 1), (2, 3, 4), (1, 2, 2)))
case_StridedSlice_backwards = case(
    lambda: P.StridedSlice(), X, constants=((1, 2, 3), (0, 0, 0), (-1, -1, -2)), grad=False
)
case_StridedSlice_with_masks = case(
    lambda: P.StridedSlice(begin_mask=2, end_mask=4, shrink_axis_mask=1),
    X,
    constants=((1, 1, 1), (2, 3, 2), (1, 1, 1)),
    grad=False,  # in which MindSpore leaves out the masks
)
case_Cast_to_integers = case(lambda: P.Cast(), V, constants=(ms.int32,), grad=False)
case_Cast_to_half = case(lambda: P.Cast(), V, constants=(ms.float16,))
case_Cast_of_a_number = case(lambda: P.Cast(), V, constants=(ms.float64,))
case_ReverseV2 = case(lambda: P.ReverseV2(axis=[1]), X)
case_ReverseSequence = case(lambda: P.ReverseSequence(1, 0), Y, np.array([4, 2, 1], np.int64))
case_Meshgrid = case(lambda: P.Meshgrid(), V, numbers(3), kind="tuple in and out")
case_Meshgrid_ij = case(lambda: P.Meshgrid(indexing="ij"), V, numbers(3), kind="tuple in and out")
case_SpaceToDepth = case(lambda: P.SpaceToDepth(2), IMAGE)
case_DepthToSpace = case(lambda: P.DepthToSpace(2), IMAGE)
case_BatchToSpaceND = case(lambda: P.BatchToSpaceND((2, 1), [[0, 1], [0, 0]]), IMAGE)
case_SpaceToBatchND = case(lambda: P.SpaceToBatchND([2, 2], [[1, 1], [0, 2]]), IMAGE)
case_Padding = case(lambda: P.Padding(4), numbers(3, 1))

case_Gather = case(lambda: P.Gather(), Y, I, constants=(0,))
case_Gather_along_an_axis = case(lambda: P.Gather(), X, np.array([[1, 0], [2, 2]], np.int32), constants=(1,))
case_Gather_in_batches = case(lambda: P.Gather(1), X, np.array([[1, 0], [2, 2]], np.int32), constants=(1,), grad=False)
case_Gather_of_one = case(lambda: P.Gather(), Y, np.array(1, np.int32), constants=(0,))
case_GatherD = case(lambda: P.GatherD(), Y, grad=(0,), constants=(1, Tensor(np.array([[0, 3], [1, 1], [2, 0]]))))
case_GatherNd = case(lambda: P.GatherNd(), Y, PLACES)
case_GatherNd_of_rows = case(lambda: P.GatherNd(), X, np.array([[1], [0], [1]], np.int32))
case_ScatterNd = case(lambda: P.ScatterNd(), PLACES, numbers(3), constants=((3, 4),))
case_Select = case(lambda: P.Select(), MASK, Y, Y * 2 + 1)
case_MaskedFill = case(lambda: P.MaskedFill(), Y, MASK, constants=(0.5,))
case_MaskedFill_by_a_tensor = case(lambda: P.MaskedFill(), Y, MASK, np.array(0.75, np.float32))
case_MaskedSelect = case(lambda: P.MaskedSelect(), Y, MASK)
case_TensorScatterUpdate = case(lambda: P.TensorScatterUpdate(), Y, PLACES[:2], numbers(2))
for _name in ["Add", "Sub"]:
    globals()[f"case_TensorScatter{_name}"] = case(
        lambda name=_name: getattr(P, f"TensorScatter{name}")(), Y, PLACES, numbers(3)
    )
for _name in ["Max", "Min", "Mul", "Div"]:
    globals()[f"case_TensorScatter{_name}"] = case(
        lambda name=_name: getattr(P, f"TensorScatter{name}")(), Y, PLACES[:2], numbers(2, low=0.5)
    )
case_TensorScatterElements = case(
    lambda: P.TensorScatterElements(axis=1), Y, np.array([[0, 3], [1, 2], [2, 0]], np.int32), numbers(3, 2)
)
case_TensorScatterElements_add = case(
    lambda: P.TensorScatterElements(axis=1, reduction="add"),
    Y,
    np.array([[0, 3], [1, 1], [2, 0]], np.int32),
    numbers(3, 2),
)
for _name in ["Sum", "Max", "Min", "Prod"]:
    globals()[f"case_UnsortedSegment{_name}"] = case(
        lambda name=_name: getattr(P, f"UnsortedSegment{name}")(), Y, SEGMENTS, constants=(3,)
    )
case_UnsortedSegmentSum_leaves_negative_ids_out = case(
    lambda: P.UnsortedSegmentSum(), Y, np.array([1, -1, 0], np.int32), constants=(2,), grad=False
)
for _name in ["Sum", "Mean", "Max", "Min", "Prod"]:
    globals()[f"case_Segment{_name}"] = case(
        lambda name=_name: getattr(P, f"Segment{name}")(), Y, np.array([0, 0, 1], np.int32), grad=False
    )
case_InplaceAdd = case(lambda: P.InplaceAdd((0, 2)), Y, numbers(2, 4), grad=False)
case_InplaceSub = case(lambda: P.InplaceSub((0, 2)), Y, numbers(2, 4), grad=False)
case_InplaceUpdate = case(lambda: P.InplaceUpdate((0, 2)), Y, numbers(2, 4), grad=False)

case_Fill = case(lambda: P.Fill(), constants=(ms.float32, (2, 3), 1.5), grad=False)
case_Zeros = case(lambda: P.Zeros(), constants=((2, 3), ms.float32), grad=False)
case_Ones = case(lambda: P.Ones(), constants=((2, 3), ms.int32), grad=False)
case_Eye = case(lambda: P.Eye(), constants=(2, 3, ms.float32), grad=False)
case_OneHot = case(lambda: P.OneHot(), I, constants=(4, Tensor(1.5), Tensor(-0.5)), grad=False)
case_OneHot_in_front = case(lambda: P.OneHot(axis=0), I, constants=(4, Tensor(1.5), Tensor(-0.5)), grad=False)
case_Range = case(lambda: P.Range(), constants=(1, 10, 3), grad=False)
case_LinSpace = case(lambda: P.LinSpace(), constants=(Tensor(1.0), Tensor(4.0), 4), grad=False)
case_Diag = case(lambda: P.Diag(), V)
case_DiagPart = case(lambda: P.DiagPart(), numbers(3, 3))
case_Tril = case(lambda: P.Tril(1), Y)
case_Triu = case(lambda: P.Triu(-1), Y)
case_Unique = case(lambda: P.Unique(), np.array([3, 1, 3, 2, 1], np.int32), grad=False)
case_NonZero = case(lambda: P.NonZero(), np.array([[0, 3], [2, 0]], np.int32), grad=False)
case_SearchSorted = case(lambda: P.SearchSorted(), np.array([0.5, 1.5, 2.5], np.float32), V, grad=False)


def case_what_a_tensor_is():
    x = Tensor(X)
    return P.Shape()(x), P.Rank()(x), P.Size()(x), str(P.DType()(x)) == str(ms.float32)


def case_shapes_inside_a_network():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.shape, self.reshape, self.transpose = P.Shape(), P.Reshape(), P.Transpose()

        def construct(self, x):
            n = self.shape(x)[0]
            return self.transpose(self.reshape(x, (n, -1)), (1, 0)) * n

    return Net()(Tensor(X)), ms.grad(Net())(Tensor(X))


def case_lists_in_place_of_tuples():
    x = Tensor(Y)
    return P.Concat(1)([x, x]), P.Stack()([x, x]), P.AddN()([x, x])


def case_gradients_of_joined_parts():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.concat, self.split, self.square = P.Concat(1), P.Split(1, 2), P.Square()

        def construct(self, x, y):
            a, b = self.split(self.concat((x, y)))
            return self.square(a) - b

    return ms.grad(Net(), (0, 1))(Tensor(Y), Tensor(numbers(3, 2)))
