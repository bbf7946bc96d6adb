"""The real Pulumi CLI on this machine: its environment, the project folder, and the two test doubles that it needs.

README.md tells what is real, what stands in, and what neither can show.
"""
