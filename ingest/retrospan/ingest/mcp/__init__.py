"""The commands that ask, as tools of the Model Context Protocol: for an assistant that looks into a failure."""
