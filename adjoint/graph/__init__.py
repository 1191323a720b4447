"""What a program is made of: frozen, interned nodes, and the one way to make them."""
