"""Against a real database: what its tables hold, and what an operator does to them."""
