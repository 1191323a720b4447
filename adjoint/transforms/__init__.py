"""Dynamic mode: what an op call means while a transform is active."""
