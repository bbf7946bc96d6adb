"""What the CLI finds around it: environment, scripts, the mirror of a project, commands of the language host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from pulumi.runtime.proto import language_pb2

from testbed.pulumi.aws_cli_standin import credential
from testbed.pulumi.environment import engine_environment, module_script
from testbed.pulumi.language_standin.host import arguments, plugin_command
from testbed.pulumi.mirror import mirrored, stack_file

PERSON = {
    "PATH": "/usr/bin",
    "HOME": "/home/somebody",
    "AWS_PROFILE": "production",
    "AWS_ACCESS_KEY_ID": "theirs",
    "HTTPS_PROXY": "http://proxy.example",
    "KUBECONFIG": "/home/somebody/.kube/config",
    "PULUMI_ACCESS_TOKEN": "theirs",
    "PULUMI_BACKEND_URL": "s3://theirs",
}


def test_nothing_of_a_person_reaches_the_cli() -> None:
    found = engine_environment(
        Path("/state"), PERSON, aws_endpoint="http://127.0.0.1:5000", region="us-west-2", kubeconfig=Path("/state/kc")
    )
    assert found == {
        "PATH": "/state/bin:/usr/bin",
        "HOME": "/home/somebody",
        "TMPDIR": "/state/tmp",
        "PULUMI_HOME": "/state/home",
        "PULUMI_BACKEND_URL": "file:///state/backend",
        "PULUMI_CONFIG_PASSPHRASE": "testbed",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DEBUG_COMMANDS": "true",
        "PULUMI_ERROR_OUTPUT_STRING": "true",
        "HELM_CACHE_HOME": "/state/helm/cache",
        "HELM_CONFIG_HOME": "/state/helm/config",
        "HELM_DATA_HOME": "/state/helm/data",
        "KUBECONFIG": "/state/kc",
        "AWS_REGION": "us-west-2",
        "AWS_ACCESS_KEY_ID": "pulumi",
        "AWS_SECRET_ACCESS_KEY": "testbed",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:5000",
    }


def test_without_an_aws_or_a_cluster_nothing_else_is_reached() -> None:
    found = engine_environment(Path("/state"), PERSON, aws_endpoint=None, region="us-west-2", kubeconfig=None)
    assert (found["AWS_ENDPOINT_URL"], found["KUBECONFIG"]) == ("http://127.0.0.1:9", "/dev/null")


def test_a_stand_ins_script_keeps_odd_paths_whole() -> None:
    assert module_script("a.b", python="/opt/my python", checkout=Path("/a b")) == (
        "#!/bin/sh\nPYTHONPATH='/a b' exec '/opt/my python' -P -m a.b \"$@\"\n"
    )


@pytest.mark.parametrize("stacks", ["", "stacks"])
def test_a_mirror_links_the_project_and_copies_its_stack_files(tmp_path: Path, stacks: str) -> None:
    project, mirror = tmp_path / "project", tmp_path / "mirror"
    (project / stacks).mkdir(parents=True)
    (project / "room").mkdir()
    (project / ".venv").mkdir()
    (project / "Pulumi.yaml").write_text(f"name: p\nruntime: python\nstackConfigDir: '{stacks}'\n")
    (project / "__main__.py").write_text("")
    (project / stacks / "Pulumi.dev.yaml").write_text("config: {}\n")
    mirrored(project, mirror)
    copy = stack_file(mirror, "dev")
    copy.write_text("changed")
    assert stack_file(project, "dev").read_text() == "config: {}\n"
    assert (mirror / "__main__.py").resolve() == project / "__main__.py"
    assert (mirror / "room").resolve() == project / "room"
    assert not (mirror / "Pulumi.yaml").is_symlink()
    assert not (mirror / ".venv").exists()


def test_a_program_is_told_everything_about_its_run() -> None:
    request = language_pb2.RunRequest(
        project="p", stack="s", organization="o", monitor_address="m", parallel=16, dryRun=True
    )
    assert arguments(request, "e") == [
        *("--project", "p", "--stack", "s", "--organization", "o"),
        *("--monitor", "m", "--engine", "e", "--parallel", "16", "--dry-run"),
    ]


def test_a_policy_pack_is_run_by_the_sdks_module_and_another_plugin_by_itself() -> None:
    assert plugin_command("analyzer", "/pack", ["address"]) == ["-m", "pulumi.policy", "address", "/pack"]
    assert plugin_command("resource", "/plugin", ["address"]) == ["/plugin/__main__.py", "address"]


def test_get_token_answers_with_the_clusters_certificate() -> None:
    kubeconfig = {"users": [{"user": {"client-certificate-data": "Y2VydA==", "client-key-data": "a2V5"}}]}
    assert credential(yaml.safe_dump(kubeconfig)) == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"clientCertificateData": "cert", "clientKeyData": "key"},
    }
    assert json.dumps(credential(yaml.safe_dump(kubeconfig)))
