"""Test double of `pulumi-language-python`, whose source is not served as a Go module.

It runs programs, plugins and policy packs with the Python that runs the testbed. Not for what the real host does
beside that: virtual environments, installing requirements, generating SDKs.
"""
