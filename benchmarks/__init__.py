"""Benchmarks: ratios measured side by side in one run, outside of the tests."""
