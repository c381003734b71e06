"""The enforcement point around a tool's body, and the run scope."""
