"""How long runs are kept, and that nothing goes which something kept rests on."""
