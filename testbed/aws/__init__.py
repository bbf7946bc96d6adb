"""AWS for tests: moto's server, and before it a front that corrects what moto lacks. See README.md for what is whose.

A test double. It shows what Karpenter and our components ask of AWS and how they take its answers, not how AWS itself
behaves: nothing here was compared with a live account.
"""

from testbed.aws.running import Aws, LaunchTemplate, start_aws

__all__ = ["Aws", "LaunchTemplate", "start_aws"]
