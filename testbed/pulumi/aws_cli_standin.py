"""Test double of the AWS CLI for one command: `aws eks get-token`, which a kubeconfig made for EKS calls.

The real one signs a request that EKS takes for a token. Here the cluster's own API server is asked, which knows
certificates: the answer holds those of the kubeconfig that KUBECONFIG names, in the same exec credential format.
"""

import argparse
import base64
import json
import os
import sys
from pathlib import Path

import yaml


def credential(kubeconfig: str) -> dict[str, object]:
    """The first user's certificate and key as an ExecCredential. Pure."""
    user = yaml.safe_load(kubeconfig)["users"][0]["user"]
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
            "clientKeyData": base64.b64decode(user["client-key-data"]).decode(),
        },
    }


def main() -> int:
    if sys.argv[1:3] != ["eks", "get-token"]:
        print(f"aws {' '.join(sys.argv[1:])}: the testbed's stand-in knows `eks get-token` only", file=sys.stderr)
        return 252
    parser = argparse.ArgumentParser(prog="aws eks get-token")
    for name in ("cluster-name", "region", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.parse_args(sys.argv[3:])
    print(json.dumps(credential(Path(os.environ["KUBECONFIG"]).read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
