"""`tilewright`: one command line for everything; each command is a small module in this folder."""
