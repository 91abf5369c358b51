"""What models cost: dated price tables, and the price of a call by them."""
