"""Measured comparisons, one command each: `python -m benchmarks [NAME]`. Nothing here is a test with a clock.

Each benchmark is a module with a function `run` that returns rows; `__main__` prints and writes them.
"""
