"""Stand-in for the chart registries of the internet, so that stack files name the same charts here as at a user's.

Karpenter's charts are the real ones, packed from its Go module; what cannot be had is a chart of the right name and
version without content. README.md lists them.
"""
