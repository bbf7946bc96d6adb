"""No secret in clear text: found by form anywhere, by name where settings are, and marked where it belongs.

Every value that looks like a secret here was made up for these tests.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from policies.rules.secret_texts import forms, is_literal, is_secret_name, is_secret_variable, named_lines

CLEAR, MARKED = "no-secret-in-clear-text", "secret-inputs-are-marked"
CONFIG_MAP, SECRET = "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret"
DEPLOYMENT, RELEASE = "kubernetes:apps/v1:Deployment", "kubernetes:helm.sh/v3:Release"
NODE_CLASS, PROVIDER = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "pulumi:providers:kubernetes"

ACCESS_KEY = "AKIA" + "IOSFODNN7TESTING"
PRIVATE_KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\nabc\n"
JWT = "eyJhbGciOiJI" + ".eyJzdWIiOiIx" + ".c2lnbmF0dXJl"
DATABASE = "postgresql+psycopg://fp:" + "hunter2@db:5432/fp"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
users:
- name: a
  user: {%s}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ACCESS_KEY, ["an AWS access key"]),
        (f"key={ACCESS_KEY};", ["an AWS access key"]),
        (PRIVATE_KEY, ["a private key"]),
        (PRIVATE_KEY.replace("RSA ", ""), ["a private key"]),
        ("-----BEGIN CERTIFICATE-----", []),
        ("-----BEGIN PUBLIC KEY-----", []),
        ("ghp_" + "a1" * 18, ["a GitHub token"]),
        ("xoxb-" + "123456789012", ["a Slack token"]),
        (JWT, ["a signed token (JWT)"]),
        (DATABASE, ["a password in a URL"]),
        ("redis://:" + "hunter2@cache", ["a password in a URL"]),
        ("postgresql://fp:$(DB_PASSWORD)@db/fp", []),
        ("postgresql://fp:${DB_PASSWORD}@db/fp", []),
        ("postgresql://fp:{{ password }}@db/fp", []),
        ("postgresql://fp:<password>@db/fp", []),
        ("postgresql://fp@db/fp", []),
        ("https://example.org:8080/a@b", []),
        ("oci://public.ecr.aws/karpenter/karpenter@sha256:abc", []),
        (KUBECONFIG % 'token: "abcdef"', ["a token in a kubeconfig"]),
        (KUBECONFIG % "client-key-data: aGVsbG8=", ["a client-key-data in a kubeconfig"]),
        (KUBECONFIG % "exec: {command: aws}", []),
        ("kind: Config\nusers: 7", []),
        ("kind: Config\n  bad: [", []),
        ("a text about passwords and tokens", []),
        ("", []),
    ],
)
def test_secrets_have_tell_tale_forms(text: str, found: list[str]) -> None:
    assert list(forms(text)) == found


@pytest.mark.parametrize(
    ("name", "of_a_setting", "of_a_variable"),
    [
        ("password", True, True),
        ("adminPassword", True, True),
        ("DB_PASSWORD", True, True),
        ("api-key", True, True),
        ("apiKey", True, True),
        ("aws_secret_access_key", True, True),
        ("GITHUB_TOKEN", True, True),
        ("CLIENT_SECRET", True, True),
        ("WEBHOOK_SECRET", False, True),
        ("secret", False, True),
        ("secretName", False, False),
        ("existingSecret", False, False),
        ("passwordKey", False, False),
        ("DB_PASSWORD_FILE", False, False),
        ("tokenTTL", False, False),
        ("httpTokens", False, False),
        ("creationToken", False, False),
        ("idempotencyToken", False, False),
        ("public_key", False, False),
        ("", False, False),
    ],
)
def test_names_under_which_secrets_are_kept(name: str, of_a_setting: bool, of_a_variable: bool) -> None:
    assert (is_secret_name(name), is_secret_variable(name)) == (of_a_setting, of_a_variable)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("hunter2", True),
        ('"hunter2"', True),
        ("$(PASSWORD)", False),
        ("${PASSWORD}", False),
        ("$PASSWORD", False),
        ("{{ .Values.password }}", False),
        ("<password>", False),
        ("/run/secrets/password", False),
        ("arn:aws:secretsmanager:r:a:secret:x", False),
        ("true", False),
        ("", False),
        ("'' ", False),
        ("3600", False),
        ("1h", False),
        ("***", False),
    ],
)
def test_references_switches_and_numbers_are_no_literals(value: str, literal: bool) -> None:
    assert is_literal(value) is literal


def test_lines_of_settings_that_write_a_secret_out_are_named_without_it() -> None:
    text = (
        "# password: comment\n"
        "user = fp\n"
        "password = hunter2\n"
        "  api_key: 'abc',\n"
        'export TOKEN="abc"\n'
        '"clientSecret": "abc",\n'
        "token: $TOKEN\n"
        "password_file: /run/a/b\n"
        "secret: my-object\n"
    )
    assert list(named_lines(text)) == ["password", "api_key", "TOKEN", "clientSecret"]


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", **container}]}}}}


def env(name: str, **value: Any) -> dict[str, Any]:
    return pod(env=[{"name": name, **value}])


@pytest.mark.parametrize(
    ("kind", "props", "where"),
    [
        (CONFIG_MAP, {"data": {"url": DATABASE}}, ["data.url: holds a password in a URL"]),
        (CONFIG_MAP, {"data": {"PASSWORD": "hunter2"}}, ["data.PASSWORD: is written out"]),
        (CONFIG_MAP, {"data": {"settings.ini": "a=1\npassword=hunter2"}}, ["data.settings.ini: writes out password"]),
        (CONFIG_MAP, {"data": {"key.pem": PRIVATE_KEY}}, ["data.key.pem: holds a private key"]),
        (CONFIG_MAP, {"data": {"PASSWORD": "$(FROM_SECRET)", "pools.json": '{"pools": []}'}}, []),
        (CONFIG_MAP, {"data": UNKNOWN, "metadata": {"annotations": {"a": ACCESS_KEY}}}, ["metadata.annotations.a"]),
        (DEPLOYMENT, env("DB_PASSWORD", value="hunter2"), ["containers.main.env.DB_PASSWORD: is written out"]),
        (DEPLOYMENT, env("HOOK_SECRET", value="hunter2"), ["containers.main.env.HOOK_SECRET"]),
        (DEPLOYMENT, env("DB_PASSWORD", valueFrom={"secretKeyRef": {"name": "a", "key": "b"}}), []),
        (DEPLOYMENT, env("DB_PASSWORD", value="$(OTHER)"), []),
        (DEPLOYMENT, env("DB_PASSWORD_FILE", value="/run/secrets/db"), []),
        (
            DEPLOYMENT,
            env("DATABASE_URL", value=DATABASE),
            ["spec.template.spec.containers[0].env[0].value: holds a pass"],
        ),
        (DEPLOYMENT, env("DB_PASSWORD", value=UNKNOWN), []),
        (DEPLOYMENT, pod(args=["--url", DATABASE]), ["spec.template.spec.containers[0].args[1]: holds a password"]),
        (DEPLOYMENT, {"metadata": {"annotations": {"note": JWT}}}, ["metadata.annotations.note: holds a signed token"]),
        (RELEASE, {"values": {"grafana": {"adminPassword": "hunter2"}}}, ["values.grafana.adminPassword: is written"]),
        (RELEASE, {"values": {"grafana": {"admin": {"existingSecret": "a", "passwordKey": "b"}}}}, []),
        (RELEASE, {"values": {"db": {"password": ""}, "x": UNKNOWN}}, []),
        (RELEASE, {"values": {"x": UNKNOWN, "token": "abc"}}, ["values.token: is written out"]),
        ("aws:ssm/parameter:Parameter", {"type": "String", "value": PRIVATE_KEY}, ["value: holds a private key"]),
        ("aws:iam/role:Role", {"name": UNKNOWN, "tags": {"key": ACCESS_KEY}}, ["tags.key: holds an AWS access key"]),
        (NODE_CLASS, {"spec": {"userData": "#!/bin/bash\nexport TOKEN=abc\n"}}, ["spec.userData: writes out TOKEN"]),
        (NODE_CLASS, {"spec": {"userData": '#!/bin/bash\nTOKEN=$(curl -X PUT "$url")\n'}}, []),
        (NODE_CLASS, {"spec": {"metadataOptions": {"httpTokens": "required"}, "userData": UNKNOWN}}, []),
        ("floodplain:index:Platform", {"databaseUrl": DATABASE}, ["databaseUrl: holds a password in a URL"]),
        # Here it may stand, if marked: the other rule asks for that.
        (SECRET, {"data": {"url": "cGFzcw=="}, "stringData": {"url": DATABASE, "password": "hunter2"}}, []),
        (SECRET, {"metadata": {"annotations": {"last": DATABASE}}}, ["metadata.annotations.last: holds a password"]),
        (PROVIDER, {"kubeconfig": KUBECONFIG % 'token: "abc"'}, []),
    ],
)
def test_clear_text(rules: Any, kind: str, props: dict[str, Any], where: list[str]) -> None:
    messages = rules.on(CLEAR, kind, props)
    assert [message.startswith(word) for message, word in zip(messages, where, strict=True)] == [True] * len(where), (
        messages
    )


def test_no_message_repeats_a_secret(rules: Any) -> None:
    props = {"data": {"a": DATABASE, "TOKEN": "hunter2", "b": "password=hunter2", "c": ACCESS_KEY}}
    messages = rules.on(CLEAR, CONFIG_MAP, props)
    assert len(messages) == 4
    assert not any("hunter2" in message or ACCESS_KEY in message for message in messages)


def test_a_property_that_the_sdk_keeps_encrypted_is_no_clear_text(rules: Any, options: Any) -> None:
    props = {"password": "hunter2", "name": "db"}
    instance = "aws:rds/instance:Instance"
    assert len(rules.on(CLEAR, instance, props)) == 1
    assert rules.on(CLEAR, instance, props, options=options(secret_outputs=["password"])) == []


def test_marks_count_where_they_are_known(rules: Any, rendered_options: Any) -> None:
    props = {"values": {"grafana": {"adminPassword": "hunter2"}}}
    marked = rendered_options(secret_paths=[("values", "grafana", "adminPassword")])
    assert rules.on(CLEAR, RELEASE, props, options=marked) == []
    assert rules.on(CLEAR, RELEASE, props, options=rendered_options(secret_paths=[("values", "grafana")])) == []
    assert len(rules.on(CLEAR, RELEASE, props, options=rendered_options(secret_paths=[("values", "other")]))) == 1


def test_a_mark_does_not_excuse_a_secret_in_a_config_map_or_a_variable(rules: Any, rendered_options: Any) -> None:
    marked = rendered_options(secret_paths=[("data",), ("spec",)])
    assert len(rules.on(CLEAR, CONFIG_MAP, {"data": {"PASSWORD": "hunter2"}}, options=marked)) == 1
    assert len(rules.on(CLEAR, DEPLOYMENT, env("DB_PASSWORD", value="hunter2"), options=marked)) == 1
    assert len(rules.on(CLEAR, CONFIG_MAP, {"data": {"url": DATABASE}}, options=marked)) == 1
    assert len(rules.on(CLEAR, DEPLOYMENT, env("DATABASE_URL", value=DATABASE), options=marked)) == 1


def test_a_false_alarm_is_configured_by_its_place(rules: Any) -> None:
    props = {"data": {"PASSWORD": "hunter2", "TOKEN": "x1"}, "metadata": {"annotations": {"a": ACCESS_KEY}}}
    allowed = {"allowedPlaces": [r"data\.PASSWORD", r"metadata\.annotations\..*", "(", "data"]}
    (message,) = rules.on(CLEAR, CONFIG_MAP, props, config=allowed)
    assert message.startswith("data.TOKEN")


@pytest.mark.parametrize(
    ("props", "secret_outputs", "words"),
    [
        ({"stringData": {"url": "a"}}, ["data", "stringData"], []),
        ({"stringData": {"url": "a", "empty": ""}}, [], ["stringData.url: is not marked secret"]),
        ({"data": {"a": "eA==", "b": UNKNOWN}}, ["stringData"], ["data.a: is not marked secret"]),
        ({"data": UNKNOWN, "metadata": {"name": "a"}}, [], []),
        ({}, [], []),
    ],
)
def test_data_of_a_secret_is_kept_encrypted(
    rules: Any, options: Any, props: dict[str, Any], secret_outputs: list[str], words: list[str]
) -> None:
    for kind in (SECRET, "kubernetes:v1:Secret", "kubernetes:core/v1:SecretPatch"):
        messages = rules.on(MARKED, kind, props, options=options(secret_outputs=secret_outputs))
        assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words)


def test_credentials_of_a_provider_are_judged_only_where_marks_are_known(
    rules: Any, options: Any, rendered_options: Any
) -> None:
    props = {"kubeconfig": KUBECONFIG % 'token: "abc"', "context": UNKNOWN}
    assert rules.on(MARKED, PROVIDER, props, options=options()) == []
    assert rules.on(MARKED, PROVIDER, props, options=rendered_options(secret_paths=[("kubeconfig",)])) == []
    (message,) = rules.on(MARKED, PROVIDER, props, options=rendered_options())
    assert message.startswith("kubeconfig: holds a token in a kubeconfig that is not marked secret")
    aws = {"secretKey": "hunter2", "region": "eu-central-1"}
    (message,) = rules.on(MARKED, "pulumi:providers:aws", aws, options=rendered_options())
    assert message.startswith("secretKey: holds a credential that is not marked secret")
    calls = {"kubeconfig": KUBECONFIG % "exec: {command: aws}"}
    assert rules.on(MARKED, PROVIDER, calls, options=rendered_options()) == []


@settings(max_examples=60)
@for_all(st.text(alphabet=st.sampled_from("abc:/@=#$ \n'\"{}-_.KEYtoken"), max_size=60))
def test_no_text_makes_the_search_fail(text: str) -> None:
    list(forms(text + "kind: Config"))
    list(named_lines(text))
    is_literal(text)
    is_secret_name(text)
