"""`retrospan torture`: kills a collector again and again, and compares what it kept with what it acknowledged."""
