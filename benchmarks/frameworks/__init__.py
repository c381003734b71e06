"""A tool call through each framework, with its adapter active and without it (group 8). One small file per framework.

Each file has one function `opened`: it sets up a tool, or a server with one, and yields how to prepare a call of it.
What is timed is the framework's own smallest call that passes through what the adapter wraps, not an agent's loop.
"""
