"""Render a stack without credentials, network or CLI; check it, compare it, show it.

Not for changing anything: nothing here talks to a cluster or to AWS.
"""
