"""The public transforms: composes the stages."""
