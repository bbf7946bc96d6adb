"""`pulumi-language-python [flags] ENGINE_ADDRESS`: says its port and serves until the engine ends it."""

import sys

from testbed.pulumi.language_standin.host import PythonHostStandIn
from testbed.pulumi.plugin_server import serve

if __name__ == "__main__":
    engine = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    serve(PythonHostStandIn(engine))
