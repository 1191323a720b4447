"""The public functions, MindSpore's names first, composed of the cards. One file a family."""

from adjoint.ops.along_axis import argsort, cummax, cummin, cumsum, sort, topk
from adjoint.ops.bessel import bessel_i, bessel_j, bessel_k, bessel_y
from adjoint.ops.broadcasting import broadcast_arrays, broadcast_to, expand
from adjoint.ops.casting import astype, cast, stop_gradient
from adjoint.ops.compare import round, where
from adjoint.ops.contract import matmul
from adjoint.ops.conv import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from adjoint.ops.decompose import cholesky, qr
from adjoint.ops.determinant import det, logdet, slogdet
from adjoint.ops.eigen import eig, eigvals, lu
from adjoint.ops.einstein_sum import einsum
from adjoint.ops.fourier import fft, fft2, fftfreq, fftn, fftshift, ifft, ifft2, ifftn, ifftshift, rfftfreq
from adjoint.ops.functional.activation import (  # fmt: skip
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    logsigmoid,
    mish,
    normalize,
    prelu,
    relu6,
    selu,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    swish,
)
from adjoint.ops.functional.assignment import assign, assign_add, assign_sub
from adjoint.ops.functional.attention import embedding, scaled_dot_product_attention
from adjoint.ops.functional.clipping import clip_by_global_norm, clip_by_norm, clip_by_value
from adjoint.ops.functional.creation import (  # fmt: skip
    arange,
    eye,
    full,
    full_like,
    linspace,
    logspace,
    one_hot,
    ones,
    ones_like,
    ones_like_shape,
    tril_indices,
    triu_indices,
    zeros,
    zeros_like,
)
from adjoint.ops.functional.ctc import ctc_loss
from adjoint.ops.functional.diagonals import diag, diag_embed, diagonal, meshgrid, tril, triu
from adjoint.ops.functional.elementwise import (  # fmt: skip
    angle,
    clamp,
    clip,
    complex,
    exp2,
    fmod,
    hypot,
    isclose,
    isinf,
    lerp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    polar,
    reciprocal,
    rsqrt,
    safe_sqrt,
    sinc,
    square,
    xlogy,
)
from adjoint.ops.functional.linalg import matrix_power
from adjoint.ops.functional.loss import (  # fmt: skip
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    reduced,
    smooth_l1_loss,
)
from adjoint.ops.functional.margin import (  # fmt: skip
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from adjoint.ops.functional.normalisation import (  # fmt: skip
    batch_norm,
    batch_statistics,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from adjoint.ops.functional.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from adjoint.ops.functional.of_cards import (  # fmt: skip
    abs,
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    betainc,
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    conj,
    cos,
    cosh,
    div,
    divide,
    eq,
    equal,
    erf,
    erfc,
    erfinv,
    exp,
    expm1,
    floor,
    floor_div,
    floor_divide,
    floor_mod,
    floormod,
    gammaln,
    ge,
    greater,
    greater_equal,
    gt,
    imag,
    isfinite,
    isnan,
    le,
    less,
    less_equal,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    lt,
    maximum,
    minimum,
    mod,
    mul,
    multiply,
    ne,
    neg,
    negative,
    not_equal,
    pow,
    power,
    real,
    relu,
    remainder,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    sub,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
    zeta,
)
from adjoint.ops.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    interpolate,
)
from adjoint.ops.functional.products import (
    bmm,
    cross,
    dot,
    inner,
    kron,
    mm,
    multi_dot,
    mv,
    outer,
    tensordot,
    trace,
    vdot,
)
from adjoint.ops.functional.random import (  # fmt: skip
    bernoulli,
    dropout,
    exponential,
    gumbel,
    gumbel_softmax,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    shuffle,
    uniform,
)
from adjoint.ops.functional.reduction import count_nonzero, cumprod, logsumexp, median, prod, ptp, quantile, std, var
from adjoint.ops.functional.repeating import repeat, repeat_interleave, roll, tile
from adjoint.ops.functional.sampling import affine_grid, grid_sample
from adjoint.ops.functional.segment_reductions import (
    logcumsumexp,
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
)
from adjoint.ops.functional.selection import (
    argwhere,
    bincount,
    gather,
    index_add,
    index_fill,
    index_select,
    masked_fill,
    masked_select,
    nonzero,
    searchsorted,
    unique,
)
from adjoint.ops.incomplete import gammainc, gammaincc
from adjoint.ops.index import (
    gather_elements,
    gather_nd,
    scatter,
    scatter_add,
    scatter_nd_add,
    take_along_axis,
    tensor_scatter_add,
    tensor_scatter_update,
)
from adjoint.ops.indexing import getitem, setitem, take
from adjoint.ops.joining import array_split, cat, chunk, concat, concatenate, split
from adjoint.ops.linalg import expm, inv, inverse, matrix_exp, solve, solve_triangular
from adjoint.ops.matrix_equations import logm, solve_banded, solve_sylvester, sqrtm
from adjoint.ops.movement import (
    expand_dims,
    flatten,
    moveaxis,
    movedim,
    permute,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unsqueeze,
)
from adjoint.ops.padding import pad, pad_widths
from adjoint.ops.pool import max_pool1d, max_pool2d, max_pool3d
from adjoint.ops.real_fourier import hfft, ihfft, irfft, irfft2, irfftn, rfft, rfft2, rfftn
from adjoint.ops.recurrence import recurrence
from adjoint.ops.reduce import all, amax, amin, any, argmax, argmin, max, mean, min, sum
from adjoint.ops.slicing import flip, slice_axis
from adjoint.ops.sparse_solve import solve_sparse
from adjoint.ops.special import digamma, polygamma
from adjoint.ops.spectral import eigh, eigvalsh, pinv, svd, svdvals
from adjoint.ops.stacking import array, stack, unbind, unstack
from adjoint.ops.sum_pool import avg_pool1d, avg_pool2d, avg_pool3d
from adjoint.ops.unfolding import fold, unfold

__all__ = [
    "abs", "absolute", "acos", "acosh", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "add", "affine_grid", "all", "amax", "amin", "angle", "any",
    "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort",
    "argwhere", "array", "array_split", "asin", "asinh", "assign", "assign_add", "assign_sub", "astype", "atan", "atan2", "atanh", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "batch_statistics", "bernoulli", "bessel_i", "bessel_j", "bessel_k", "bessel_y", "betainc", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "bincount", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bmm", "broadcast_arrays", "broadcast_to", "cast", "cat", "cbrt", "ceil",
    "celu", "cholesky", "chunk", "clamp", "clip", "clip_by_global_norm", "clip_by_norm",
    "clip_by_value", "complex", "concat", "concatenate", "cond", "conj",
    "conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input", "conv2d_transpose",
    "conv3d", "conv3d_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cos", "cosh",
    "cosine_embedding_loss", "cosine_similarity", "count_nonzero", "cross", "cross_entropy", "ctc_loss", "cummax",
    "cummin", "cumprod", "cumsum", "det", "diag", "diag_embed", "diagonal", "digamma", "div", "divide", "dot",
    "dropout", "eig", "eigh", "eigvals", "eigvalsh", "einsum", "elu", "embedding", "eq", "equal", "erf", "erfc", "erfinv", "exp", "exp2",
    "expand", "expand_dims", "expm", "expm1", "exponential", "eye", "fft", "fft2", "fftfreq", "fftn", "fftshift",
    "flatten", "flip", "floor", "floor_div", "floor_divide", "floor_mod", "floormod", "fmod", "fold", "full",
    "full_like", "gammainc", "gammaincc", "gammaln", "gather", "gather_elements", "gather_nd", "gaussian_nll_loss", "ge", "gelu", "getitem",
    "glu", "greater", "greater_equal", "grid_sample", "group_norm", "gt", "gumbel", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hfft", "hinge_embedding_loss", "huber_loss", "hypot", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "imag", "index_add", "index_fill", "index_select", "inner", "instance_norm", "interpolate",
    "inv", "inverse", "irfft", "irfft2", "irfftn", "isclose", "isfinite", "isinf", "isnan", "kl_div", "kron", "l1_loss",
    "layer_norm", "le", "leaky_relu", "lerp", "less", "less_equal", "lgamma", "linspace", "log", "log10", "log1p",
    "log2", "log_sigmoid", "log_softmax", "logaddexp", "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logm", "logsigmoid", "logspace", "logsumexp", "lu", "lt", "margin_ranking_loss", "masked_fill", "masked_select",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "max", "max_pool1d", "max_pool2d",
    "max_pool3d", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mish", "mm", "mod", "moveaxis", "movedim",
    "mse_loss", "mul", "multi_dot", "multi_margin_loss", "multilabel_soft_margin_loss", "multinomial", "multiply", "mv",
    "ne", "neg", "negative", "nll_loss", "nonzero", "norm", "normal", "normalize", "not_equal", "one_hot", "ones",
    "ones_like", "ones_like_shape", "outer", "pad", "pad_widths", "permute", "pinv", "poisson_nll_loss", "polar",
    "polygamma", "pow", "power", "prelu", "prod", "ptp", "qr", "quantile", "rand", "rand_like", "randint", "randn",
    "randn_like", "randperm", "ravel", "real", "reciprocal", "recurrence", "reduced", "relu", "relu6", "remainder", "repeat",
    "repeat_interleave", "reshape", "rfft", "rfft2", "rfftfreq", "rfftn", "rms_norm", "roll", "round", "rsqrt",
    "safe_sqrt", "scaled_dot_product_attention", "scatter", "scatter_add", "scatter_nd_add", "searchsorted",
    "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "selu",
    "setitem", "shuffle", "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "slice_axis", "slogdet", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "solve", "solve_banded", "solve_sparse", "solve_sylvester", "solve_triangular", "sort",
    "split", "sqrt", "sqrtm", "square", "squeeze", "stack", "std", "stop_gradient", "sub", "subtract", "sum", "svd", "svdvals",
    "swapaxes", "swapdims", "swish", "t", "take", "take_along_axis", "tan", "tanh", "tensor_scatter_add",
    "tensor_scatter_update", "tensordot", "tile", "topk", "trace", "transpose", "tril", "tril_indices",
    "triplet_margin_loss", "triu", "triu_indices", "true_divide", "trunc", "unbind", "unfold", "uniform", "unique",
    "unsqueeze", "unstack", "var", "vdot", "vector_norm", "where", "xlogy", "zeros", "zeros_like", "zeta",
]  # fmt: skip
