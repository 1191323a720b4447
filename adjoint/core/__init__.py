"""Values that every stage shares. Imports nothing else of ours."""
