"""The command line: a table of commands, one module per command."""
