"""What citespan costs, as ratios of two things measured in one run. `python -m benchmarks`; see docs/benchmarks.md."""
