"""Names that PyTorch and JAX have in their modules and we have under others: an AttributeError says where."""

from __future__ import annotations

#: By module: the name that was asked for, and what to write.
WORDS: dict[str, dict[str, str]] = {
    "adjoint": {
        "tensor": "adjoint.Tensor",
        "as_tensor": "adjoint.Tensor",
        "asarray": "adjoint.Tensor",
        "from_numpy": "adjoint.Tensor",
        "Variable": "adjoint.Tensor",
        "manual_seed": "adjoint.set_seed",
        "cat": "adjoint.ops.cat",
        "inference_mode": "adjoint.no_grad",
        "compile": "adjoint.jit",
        "func": "adjoint.grad, adjoint.vmap, adjoint.jacrev",
        "autograd": "adjoint.grad, adjoint.GradientTape, adjoint.custom_vjp",
        "pmap": "adjoint.parallel.data_parallel",
        "distributed": "adjoint.parallel",
        "tree_map": "adjoint.tree.map",
        "tree_util": "adjoint.tree",
        "flatten_util": "adjoint.tree.ravel",
        "lax": "adjoint.scan, adjoint.while_loop, adjoint.fori_loop, adjoint.cond, adjoint.switch",
        "pure_callback": "adjoint.host_callback",
        "remat": "adjoint.checkpoint",
        "save": "adjoint.train.save_checkpoint",
        "load": "adjoint.train.load_checkpoint",
        "utils": "adjoint.data, adjoint.checkpoint",
    },
    "adjoint.nn": {
        "Parameter": "adjoint.Parameter",
        "init": "adjoint.nn.initializer",
        "utils": "adjoint.optim.clip_by_global_norm, adjoint.optim.clip_by_norm",
        "DataParallel": "adjoint.parallel.data_parallel",
        "parallel": "adjoint.parallel",
    },
    "adjoint.optim": {
        "lr_scheduler": "adjoint.optim.cosine_decay_lr, adjoint.optim.exponential_decay_lr, adjoint.optim.warmup_lr",
    },
    "adjoint.amp": {"GradScaler": "adjoint.amp.DynamicLossScaler"},
    "adjoint.data": {"DataLoader": "adjoint.data.ArrayDataset", "TensorDataset": "adjoint.data.ArrayDataset"},
    "adjoint.distributions": {"kl_divergence": "adjoint.distributions.kl"},
}


def missing(module: str, name: str, functions: object = None) -> AttributeError:
    """The error of a name that a module does not have; `functions` are those of `adjoint.ops`, which may have it.

    >>> print(missing("adjoint.amp", "GradScaler"))
    module 'adjoint.amp' has no attribute 'GradScaler'; there is adjoint.amp.DynamicLossScaler
    """
    where = WORDS.get(module, {}).get(name, "")
    if not where and name[:1] != "_" and hasattr(functions, name):
        where = f"adjoint.ops.{name}"
    hint = f"; there is {where}" if where else ""
    return AttributeError(f"module '{module}' has no attribute {name!r}{hint}")
