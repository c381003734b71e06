"""Local files: the evidence of every decision, written before the tool's body runs."""
