"""`pulumi-resource-aws`: says its port and serves until the engine ends it. Where AWS is stands in AWS_ENDPOINT_URL."""

from testbed.pulumi.aws_standin.provider import AwsProviderStandIn
from testbed.pulumi.plugin_server import serve

if __name__ == "__main__":
    serve(AwsProviderStandIn())
