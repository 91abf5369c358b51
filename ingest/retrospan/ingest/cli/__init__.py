"""The command `retrospan`: `main` finds the command, `command_table` lists them.

`commands` are one module each; they ask with `client`, draw with `views`, and write through `terminal`.
"""
