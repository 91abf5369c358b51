"""The wire forms of providers: what a request asks for, and the bytes that give a recorded answer. Pure functions."""
