"""Refuses its settings, as stacks.read_config does."""

import pulumi

raise pulumi.RunError("stacks/Pulumi.dev.yaml has 2 problem(s):\n  test:a: is wrong\n  test:b: is wrong, too")
