"""mindspore.ops.composite."""
