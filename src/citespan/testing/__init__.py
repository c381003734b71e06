"""Tests of agents: the pytest plugin.

`plugin` has the hooks and is loaded by every pytest of the environment, so it imports nothing else before a test asks
for it. `marker` reads what a test asks for, `watch` sees what its tools do and writes it into a `journal`, `happened`
makes calls of that, `verdict` says what is wrong with them. `run` is what the test has of all this, `phases` puts it
into the phases of a test, `reports` writes the files.
"""
