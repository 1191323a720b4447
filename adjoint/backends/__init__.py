"""Graph -> callable."""
