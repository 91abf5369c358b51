"""The HTTP of every port: one server, what it takes for a request, and whose requests it answers."""
