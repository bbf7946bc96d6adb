"""Test double of `pulumi-resource-aws`, which cannot be had here: the resource types that the components use, no more.

The real engine talks to it as to the real provider; it talks to an AWS API (moto behind testbed's front) by boto3.
Which properties replace an object is in `kinds`; an unknown type, function or property is an error.
"""
