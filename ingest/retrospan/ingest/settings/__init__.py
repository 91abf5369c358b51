"""What a collector is told when it starts, from where, and who may have written it."""
