"""Graph -> graph, for machine code only.

In: an optimised graph. Out: a graph that means the same, in fewer forms: Einstein sums are matrix products, stacked products
are one product, a slice that is set is an `InsertSlice`, and what a card says in simpler ops (`expand`) is said so.
"""
