"""Benchmarks: programs that print a table and a JSON line."""
