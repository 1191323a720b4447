"""The public functions, MindSpore's names first, composed of the cards. One file a family."""

from adjoint.ops.functional.activation import (
    celu as celu,
)
from adjoint.ops.functional.activation import (
    elu as elu,
)
from adjoint.ops.functional.activation import (
    gelu as gelu,
)
from adjoint.ops.functional.activation import (
    glu as glu,
)
from adjoint.ops.functional.activation import (
    hardshrink as hardshrink,
)
from adjoint.ops.functional.activation import (
    hardsigmoid as hardsigmoid,
)
from adjoint.ops.functional.activation import (
    hardswish as hardswish,
)
from adjoint.ops.functional.activation import (
    hardtanh as hardtanh,
)
from adjoint.ops.functional.activation import (
    leaky_relu as leaky_relu,
)
from adjoint.ops.functional.activation import (
    log_sigmoid as log_sigmoid,
)
from adjoint.ops.functional.activation import (
    log_softmax as log_softmax,
)
from adjoint.ops.functional.activation import (
    logsigmoid as logsigmoid,
)
from adjoint.ops.functional.activation import (
    mish as mish,
)
from adjoint.ops.functional.activation import (
    normalize as normalize,
)
from adjoint.ops.functional.activation import (
    prelu as prelu,
)
from adjoint.ops.functional.activation import (
    relu as relu,
)
from adjoint.ops.functional.activation import (
    relu6 as relu6,
)
from adjoint.ops.functional.activation import (
    selu as selu,
)
from adjoint.ops.functional.activation import (
    sigmoid as sigmoid,
)
from adjoint.ops.functional.activation import (
    silu as silu,
)
from adjoint.ops.functional.activation import (
    softmax as softmax,
)
from adjoint.ops.functional.activation import (
    softmin as softmin,
)
from adjoint.ops.functional.activation import (
    softplus as softplus,
)
from adjoint.ops.functional.activation import (
    softshrink as softshrink,
)
from adjoint.ops.functional.activation import (
    softsign as softsign,
)
from adjoint.ops.functional.activation import (
    swish as swish,
)
from adjoint.ops.functional.creation import (
    arange as arange,
)
from adjoint.ops.functional.creation import (
    eye as eye,
)
from adjoint.ops.functional.creation import (
    full as full,
)
from adjoint.ops.functional.creation import (
    full_like as full_like,
)
from adjoint.ops.functional.creation import (
    linspace as linspace,
)
from adjoint.ops.functional.creation import (
    logspace as logspace,
)
from adjoint.ops.functional.creation import (
    one_hot as one_hot,
)
from adjoint.ops.functional.creation import (
    ones as ones,
)
from adjoint.ops.functional.creation import (
    ones_like as ones_like,
)
from adjoint.ops.functional.creation import (
    tril_indices as tril_indices,
)
from adjoint.ops.functional.creation import (
    triu_indices as triu_indices,
)
from adjoint.ops.functional.creation import (
    zeros as zeros,
)
from adjoint.ops.functional.creation import (
    zeros_like as zeros_like,
)
from adjoint.ops.functional.diagonals import (
    diag as diag,
)
from adjoint.ops.functional.diagonals import (
    diag_embed as diag_embed,
)
from adjoint.ops.functional.diagonals import (
    diagonal as diagonal,
)
from adjoint.ops.functional.diagonals import (
    meshgrid as meshgrid,
)
from adjoint.ops.functional.diagonals import (
    tril as tril,
)
from adjoint.ops.functional.diagonals import (
    triu as triu,
)
from adjoint.ops.functional.elementwise import (
    abs as abs,
)
from adjoint.ops.functional.elementwise import (
    absolute as absolute,
)
from adjoint.ops.functional.elementwise import (
    acos as acos,
)
from adjoint.ops.functional.elementwise import (
    acosh as acosh,
)
from adjoint.ops.functional.elementwise import (
    add as add,
)
from adjoint.ops.functional.elementwise import (
    angle as angle,
)
from adjoint.ops.functional.elementwise import (
    arccos as arccos,
)
from adjoint.ops.functional.elementwise import (
    arccosh as arccosh,
)
from adjoint.ops.functional.elementwise import (
    arcsin as arcsin,
)
from adjoint.ops.functional.elementwise import (
    arcsinh as arcsinh,
)
from adjoint.ops.functional.elementwise import (
    arctan as arctan,
)
from adjoint.ops.functional.elementwise import (
    arctan2 as arctan2,
)
from adjoint.ops.functional.elementwise import (
    arctanh as arctanh,
)
from adjoint.ops.functional.elementwise import (
    asin as asin,
)
from adjoint.ops.functional.elementwise import (
    asinh as asinh,
)
from adjoint.ops.functional.elementwise import (
    astype as astype,
)
from adjoint.ops.functional.elementwise import (
    atan as atan,
)
from adjoint.ops.functional.elementwise import (
    atan2 as atan2,
)
from adjoint.ops.functional.elementwise import (
    atanh as atanh,
)
from adjoint.ops.functional.elementwise import (
    bitwise_and as bitwise_and,
)
from adjoint.ops.functional.elementwise import (
    bitwise_left_shift as bitwise_left_shift,
)
from adjoint.ops.functional.elementwise import (
    bitwise_not as bitwise_not,
)
from adjoint.ops.functional.elementwise import (
    bitwise_or as bitwise_or,
)
from adjoint.ops.functional.elementwise import (
    bitwise_right_shift as bitwise_right_shift,
)
from adjoint.ops.functional.elementwise import (
    bitwise_xor as bitwise_xor,
)
from adjoint.ops.functional.elementwise import (
    cast as cast,
)
from adjoint.ops.functional.elementwise import (
    cbrt as cbrt,
)
from adjoint.ops.functional.elementwise import (
    ceil as ceil,
)
from adjoint.ops.functional.elementwise import (
    clamp as clamp,
)
from adjoint.ops.functional.elementwise import (
    clip as clip,
)
from adjoint.ops.functional.elementwise import (
    clip_by_value as clip_by_value,
)
from adjoint.ops.functional.elementwise import (
    complex as complex,
)
from adjoint.ops.functional.elementwise import (
    conj as conj,
)
from adjoint.ops.functional.elementwise import (
    cos as cos,
)
from adjoint.ops.functional.elementwise import (
    cosh as cosh,
)
from adjoint.ops.functional.elementwise import (
    digamma as digamma,
)
from adjoint.ops.functional.elementwise import (
    div as div,
)
from adjoint.ops.functional.elementwise import (
    divide as divide,
)
from adjoint.ops.functional.elementwise import (
    eq as eq,
)
from adjoint.ops.functional.elementwise import (
    equal as equal,
)
from adjoint.ops.functional.elementwise import (
    erf as erf,
)
from adjoint.ops.functional.elementwise import (
    erfc as erfc,
)
from adjoint.ops.functional.elementwise import (
    erfinv as erfinv,
)
from adjoint.ops.functional.elementwise import (
    exp as exp,
)
from adjoint.ops.functional.elementwise import (
    exp2 as exp2,
)
from adjoint.ops.functional.elementwise import (
    expm1 as expm1,
)
from adjoint.ops.functional.elementwise import (
    floor as floor,
)
from adjoint.ops.functional.elementwise import (
    floor_div as floor_div,
)
from adjoint.ops.functional.elementwise import (
    floor_divide as floor_divide,
)
from adjoint.ops.functional.elementwise import (
    floor_mod as floor_mod,
)
from adjoint.ops.functional.elementwise import (
    floormod as floormod,
)
from adjoint.ops.functional.elementwise import (
    fmod as fmod,
)
from adjoint.ops.functional.elementwise import (
    gammaln as gammaln,
)
from adjoint.ops.functional.elementwise import (
    ge as ge,
)
from adjoint.ops.functional.elementwise import (
    greater as greater,
)
from adjoint.ops.functional.elementwise import (
    greater_equal as greater_equal,
)
from adjoint.ops.functional.elementwise import (
    gt as gt,
)
from adjoint.ops.functional.elementwise import (
    hypot as hypot,
)
from adjoint.ops.functional.elementwise import (
    imag as imag,
)
from adjoint.ops.functional.elementwise import (
    isclose as isclose,
)
from adjoint.ops.functional.elementwise import (
    isfinite as isfinite,
)
from adjoint.ops.functional.elementwise import (
    isinf as isinf,
)
from adjoint.ops.functional.elementwise import (
    isnan as isnan,
)
from adjoint.ops.functional.elementwise import (
    le as le,
)
from adjoint.ops.functional.elementwise import (
    lerp as lerp,
)
from adjoint.ops.functional.elementwise import (
    less as less,
)
from adjoint.ops.functional.elementwise import (
    less_equal as less_equal,
)
from adjoint.ops.functional.elementwise import (
    lgamma as lgamma,
)
from adjoint.ops.functional.elementwise import (
    log as log,
)
from adjoint.ops.functional.elementwise import (
    log1p as log1p,
)
from adjoint.ops.functional.elementwise import (
    log2 as log2,
)
from adjoint.ops.functional.elementwise import (
    log10 as log10,
)
from adjoint.ops.functional.elementwise import (
    logaddexp as logaddexp,
)
from adjoint.ops.functional.elementwise import (
    logical_and as logical_and,
)
from adjoint.ops.functional.elementwise import (
    logical_not as logical_not,
)
from adjoint.ops.functional.elementwise import (
    logical_or as logical_or,
)
from adjoint.ops.functional.elementwise import (
    logical_xor as logical_xor,
)
from adjoint.ops.functional.elementwise import (
    lt as lt,
)
from adjoint.ops.functional.elementwise import (
    maximum as maximum,
)
from adjoint.ops.functional.elementwise import (
    minimum as minimum,
)
from adjoint.ops.functional.elementwise import (
    mod as mod,
)
from adjoint.ops.functional.elementwise import (
    mul as mul,
)
from adjoint.ops.functional.elementwise import (
    multiply as multiply,
)
from adjoint.ops.functional.elementwise import (
    ne as ne,
)
from adjoint.ops.functional.elementwise import (
    neg as neg,
)
from adjoint.ops.functional.elementwise import (
    negative as negative,
)
from adjoint.ops.functional.elementwise import (
    not_equal as not_equal,
)
from adjoint.ops.functional.elementwise import (
    polar as polar,
)
from adjoint.ops.functional.elementwise import (
    polygamma as polygamma,
)
from adjoint.ops.functional.elementwise import (
    pow as pow,
)
from adjoint.ops.functional.elementwise import (
    power as power,
)
from adjoint.ops.functional.elementwise import (
    real as real,
)
from adjoint.ops.functional.elementwise import (
    reciprocal as reciprocal,
)
from adjoint.ops.functional.elementwise import (
    remainder as remainder,
)
from adjoint.ops.functional.elementwise import (
    round as round,
)
from adjoint.ops.functional.elementwise import (
    rsqrt as rsqrt,
)
from adjoint.ops.functional.elementwise import (
    safe_sqrt as safe_sqrt,
)
from adjoint.ops.functional.elementwise import (
    sign as sign,
)
from adjoint.ops.functional.elementwise import (
    sin as sin,
)
from adjoint.ops.functional.elementwise import (
    sinc as sinc,
)
from adjoint.ops.functional.elementwise import (
    sinh as sinh,
)
from adjoint.ops.functional.elementwise import (
    sqrt as sqrt,
)
from adjoint.ops.functional.elementwise import (
    square as square,
)
from adjoint.ops.functional.elementwise import (
    stop_gradient as stop_gradient,
)
from adjoint.ops.functional.elementwise import (
    sub as sub,
)
from adjoint.ops.functional.elementwise import (
    subtract as subtract,
)
from adjoint.ops.functional.elementwise import (
    tan as tan,
)
from adjoint.ops.functional.elementwise import (
    tanh as tanh,
)
from adjoint.ops.functional.elementwise import (
    true_divide as true_divide,
)
from adjoint.ops.functional.elementwise import (
    trunc as trunc,
)
from adjoint.ops.functional.elementwise import (
    where as where,
)
from adjoint.ops.functional.elementwise import (
    xlogy as xlogy,
)
from adjoint.ops.functional.fourier import (
    fft as fft,
)
from adjoint.ops.functional.fourier import (
    fft2 as fft2,
)
from adjoint.ops.functional.fourier import (
    fftfreq as fftfreq,
)
from adjoint.ops.functional.fourier import (
    fftn as fftn,
)
from adjoint.ops.functional.fourier import (
    fftshift as fftshift,
)
from adjoint.ops.functional.fourier import (
    hfft as hfft,
)
from adjoint.ops.functional.fourier import (
    ifft as ifft,
)
from adjoint.ops.functional.fourier import (
    ifft2 as ifft2,
)
from adjoint.ops.functional.fourier import (
    ifftn as ifftn,
)
from adjoint.ops.functional.fourier import (
    ifftshift as ifftshift,
)
from adjoint.ops.functional.fourier import (
    ihfft as ihfft,
)
from adjoint.ops.functional.fourier import (
    irfft as irfft,
)
from adjoint.ops.functional.fourier import (
    irfft2 as irfft2,
)
from adjoint.ops.functional.fourier import (
    irfftn as irfftn,
)
from adjoint.ops.functional.fourier import (
    rfft as rfft,
)
from adjoint.ops.functional.fourier import (
    rfft2 as rfft2,
)
from adjoint.ops.functional.fourier import (
    rfftfreq as rfftfreq,
)
from adjoint.ops.functional.fourier import (
    rfftn as rfftn,
)
from adjoint.ops.functional.index import (
    getitem as getitem,
)
from adjoint.ops.functional.index import (
    setitem as setitem,
)
from adjoint.ops.functional.joining import (
    array as array,
)
from adjoint.ops.functional.joining import (
    array_split as array_split,
)
from adjoint.ops.functional.joining import (
    cat as cat,
)
from adjoint.ops.functional.joining import (
    chunk as chunk,
)
from adjoint.ops.functional.joining import (
    concat as concat,
)
from adjoint.ops.functional.joining import (
    concatenate as concatenate,
)
from adjoint.ops.functional.joining import (
    pad as pad,
)
from adjoint.ops.functional.joining import (
    pad_widths as pad_widths,
)
from adjoint.ops.functional.joining import (
    repeat as repeat,
)
from adjoint.ops.functional.joining import (
    repeat_interleave as repeat_interleave,
)
from adjoint.ops.functional.joining import (
    roll as roll,
)
from adjoint.ops.functional.joining import (
    split as split,
)
from adjoint.ops.functional.joining import (
    stack as stack,
)
from adjoint.ops.functional.joining import (
    tile as tile,
)
from adjoint.ops.functional.joining import (
    unbind as unbind,
)
from adjoint.ops.functional.joining import (
    unstack as unstack,
)
from adjoint.ops.functional.linalg import (
    cholesky as cholesky,
)
from adjoint.ops.functional.linalg import (
    det as det,
)
from adjoint.ops.functional.linalg import (
    eigh as eigh,
)
from adjoint.ops.functional.linalg import (
    eigvalsh as eigvalsh,
)
from adjoint.ops.functional.linalg import (
    expm as expm,
)
from adjoint.ops.functional.linalg import (
    inv as inv,
)
from adjoint.ops.functional.linalg import (
    inverse as inverse,
)
from adjoint.ops.functional.linalg import (
    logdet as logdet,
)
from adjoint.ops.functional.linalg import (
    matrix_exp as matrix_exp,
)
from adjoint.ops.functional.linalg import (
    matrix_power as matrix_power,
)
from adjoint.ops.functional.linalg import (
    pinv as pinv,
)
from adjoint.ops.functional.linalg import (
    qr as qr,
)
from adjoint.ops.functional.linalg import (
    slogdet as slogdet,
)
from adjoint.ops.functional.linalg import (
    solve as solve,
)
from adjoint.ops.functional.linalg import (
    solve_triangular as solve_triangular,
)
from adjoint.ops.functional.linalg import (
    svd as svd,
)
from adjoint.ops.functional.linalg import (
    svdvals as svdvals,
)
from adjoint.ops.functional.loss import (
    binary_cross_entropy as binary_cross_entropy,
)
from adjoint.ops.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from adjoint.ops.functional.loss import (
    l1_loss as l1_loss,
)
from adjoint.ops.functional.loss import (
    mse_loss as mse_loss,
)
from adjoint.ops.functional.loss import (
    reduced as reduced,
)
from adjoint.ops.functional.movement import (
    broadcast_arrays as broadcast_arrays,
)
from adjoint.ops.functional.movement import (
    broadcast_to as broadcast_to,
)
from adjoint.ops.functional.movement import (
    expand as expand,
)
from adjoint.ops.functional.movement import (
    expand_dims as expand_dims,
)
from adjoint.ops.functional.movement import (
    flatten as flatten,
)
from adjoint.ops.functional.movement import (
    flip as flip,
)
from adjoint.ops.functional.movement import (
    moveaxis as moveaxis,
)
from adjoint.ops.functional.movement import (
    movedim as movedim,
)
from adjoint.ops.functional.movement import (
    ones_like_shape as ones_like_shape,
)
from adjoint.ops.functional.movement import (
    permute as permute,
)
from adjoint.ops.functional.movement import (
    ravel as ravel,
)
from adjoint.ops.functional.movement import (
    reshape as reshape,
)
from adjoint.ops.functional.movement import (
    slice_axis as slice_axis,
)
from adjoint.ops.functional.movement import (
    squeeze as squeeze,
)
from adjoint.ops.functional.movement import (
    swapaxes as swapaxes,
)
from adjoint.ops.functional.movement import (
    swapdims as swapdims,
)
from adjoint.ops.functional.movement import (
    t as t,
)
from adjoint.ops.functional.movement import (
    take as take,
)
from adjoint.ops.functional.movement import (
    take_along_axis as take_along_axis,
)
from adjoint.ops.functional.movement import (
    transpose as transpose,
)
from adjoint.ops.functional.movement import (
    unsqueeze as unsqueeze,
)
from adjoint.ops.functional.norms import (
    cond as cond,
)
from adjoint.ops.functional.norms import (
    matrix_norm as matrix_norm,
)
from adjoint.ops.functional.norms import (
    matrix_rank as matrix_rank,
)
from adjoint.ops.functional.norms import (
    norm as norm,
)
from adjoint.ops.functional.norms import (
    vector_norm as vector_norm,
)
from adjoint.ops.functional.products import (
    bmm as bmm,
)
from adjoint.ops.functional.products import (
    cross as cross,
)
from adjoint.ops.functional.products import (
    dot as dot,
)
from adjoint.ops.functional.products import (
    einsum as einsum,
)
from adjoint.ops.functional.products import (
    inner as inner,
)
from adjoint.ops.functional.products import (
    kron as kron,
)
from adjoint.ops.functional.products import (
    matmul as matmul,
)
from adjoint.ops.functional.products import (
    mm as mm,
)
from adjoint.ops.functional.products import (
    multi_dot as multi_dot,
)
from adjoint.ops.functional.products import (
    mv as mv,
)
from adjoint.ops.functional.products import (
    outer as outer,
)
from adjoint.ops.functional.products import (
    tensordot as tensordot,
)
from adjoint.ops.functional.products import (
    trace as trace,
)
from adjoint.ops.functional.products import (
    vdot as vdot,
)
from adjoint.ops.functional.random import (
    bernoulli as bernoulli,
)
from adjoint.ops.functional.random import (
    dropout as dropout,
)
from adjoint.ops.functional.random import (
    exponential as exponential,
)
from adjoint.ops.functional.random import (
    gumbel as gumbel,
)
from adjoint.ops.functional.random import (
    gumbel_softmax as gumbel_softmax,
)
from adjoint.ops.functional.random import (
    multinomial as multinomial,
)
from adjoint.ops.functional.random import (
    normal as normal,
)
from adjoint.ops.functional.random import (
    rand as rand,
)
from adjoint.ops.functional.random import (
    rand_like as rand_like,
)
from adjoint.ops.functional.random import (
    randint as randint,
)
from adjoint.ops.functional.random import (
    randn as randn,
)
from adjoint.ops.functional.random import (
    randn_like as randn_like,
)
from adjoint.ops.functional.random import (
    randperm as randperm,
)
from adjoint.ops.functional.random import (
    shuffle as shuffle,
)
from adjoint.ops.functional.random import (
    uniform as uniform,
)
from adjoint.ops.functional.reduction import (
    all as all,
)
from adjoint.ops.functional.reduction import (
    amax as amax,
)
from adjoint.ops.functional.reduction import (
    amin as amin,
)
from adjoint.ops.functional.reduction import (
    any as any,
)
from adjoint.ops.functional.reduction import (
    argmax as argmax,
)
from adjoint.ops.functional.reduction import (
    argmin as argmin,
)
from adjoint.ops.functional.reduction import (
    argsort as argsort,
)
from adjoint.ops.functional.reduction import (
    count_nonzero as count_nonzero,
)
from adjoint.ops.functional.reduction import (
    cummax as cummax,
)
from adjoint.ops.functional.reduction import (
    cummin as cummin,
)
from adjoint.ops.functional.reduction import (
    cumprod as cumprod,
)
from adjoint.ops.functional.reduction import (
    cumsum as cumsum,
)
from adjoint.ops.functional.reduction import (
    logsumexp as logsumexp,
)
from adjoint.ops.functional.reduction import (
    max as max,
)
from adjoint.ops.functional.reduction import (
    mean as mean,
)
from adjoint.ops.functional.reduction import (
    median as median,
)
from adjoint.ops.functional.reduction import (
    min as min,
)
from adjoint.ops.functional.reduction import (
    prod as prod,
)
from adjoint.ops.functional.reduction import (
    ptp as ptp,
)
from adjoint.ops.functional.reduction import (
    quantile as quantile,
)
from adjoint.ops.functional.reduction import (
    sort as sort,
)
from adjoint.ops.functional.reduction import (
    std as std,
)
from adjoint.ops.functional.reduction import (
    sum as sum,
)
from adjoint.ops.functional.reduction import (
    topk as topk,
)
from adjoint.ops.functional.reduction import (
    var as var,
)
from adjoint.ops.functional.selection import (
    argwhere as argwhere,
)
from adjoint.ops.functional.selection import (
    bincount as bincount,
)
from adjoint.ops.functional.selection import (
    gather as gather,
)
from adjoint.ops.functional.selection import (
    gather_elements as gather_elements,
)
from adjoint.ops.functional.selection import (
    gather_nd as gather_nd,
)
from adjoint.ops.functional.selection import (
    index_add as index_add,
)
from adjoint.ops.functional.selection import (
    index_fill as index_fill,
)
from adjoint.ops.functional.selection import (
    index_select as index_select,
)
from adjoint.ops.functional.selection import (
    masked_fill as masked_fill,
)
from adjoint.ops.functional.selection import (
    masked_select as masked_select,
)
from adjoint.ops.functional.selection import (
    nonzero as nonzero,
)
from adjoint.ops.functional.selection import (
    scatter as scatter,
)
from adjoint.ops.functional.selection import (
    scatter_add as scatter_add,
)
from adjoint.ops.functional.selection import (
    scatter_nd_add as scatter_nd_add,
)
from adjoint.ops.functional.selection import (
    searchsorted as searchsorted,
)
from adjoint.ops.functional.selection import (
    tensor_scatter_add as tensor_scatter_add,
)
from adjoint.ops.functional.selection import (
    tensor_scatter_update as tensor_scatter_update,
)
from adjoint.ops.functional.selection import (
    unique as unique,
)
