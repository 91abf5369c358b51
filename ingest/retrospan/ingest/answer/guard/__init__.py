"""What may be asked on the SQL port: the words of a statement, and which of them a reader may use. Pure."""
