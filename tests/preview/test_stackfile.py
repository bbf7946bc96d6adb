from __future__ import annotations

from pathlib import Path

import pytest

from preview.problems import PreviewError
from preview.stackfile import StackFile, load, paths_of, stacks_of

PULUMI = "name: shop\nruntime: python\nstackConfigDir: stacks\n"


def write(root: Path, text: str, project: str = PULUMI) -> Path:
    (root / "Pulumi.yaml").write_text(project)
    (root / "stacks").mkdir(exist_ok=True)
    (root / "stacks" / "Pulumi.dev.yaml").write_text(text)
    return root


def lines_of(root: Path, stack: str = "dev") -> tuple[str, ...]:
    with pytest.raises(PreviewError) as caught:
        load(root, stack)
    return caught.value.lines


def test_values_arrive_as_pulumi_hands_them_over(tmp_path: Path) -> None:
    text = """
encryptionsalt: v1:abc
environment: [shared]
config:
  aws:region: eu-central-1
  shop:version: 1.10
  shop:on: true
  shop:yes: yes
  shop:date: 2026-08-01
  shop:empty:
  shop:token: {secure: v1:xyz}
  shop:sizes: [1, 2.5, 010, 1:30, on]
  shop:database: {user: app, password: {secure: v1:xyz}}
  unqualified: a
"""
    assert load(write(tmp_path, text), "dev") == StackFile(
        project="shop",
        stack="dev",
        path="stacks/Pulumi.dev.yaml",
        config={
            "aws:region": "eu-central-1",
            "shop:version": "1.10",
            "shop:on": "true",
            "shop:yes": "yes",
            "shop:date": "2026-08-01",
            "shop:empty": "",
            "shop:token": "placeholder-of-the-secret-shop:token",
            "shop:sizes": '[1,2.5,10,"1:30","on"]',
            "shop:database": '{"password":"placeholder-of-the-secret-shop:database.password","user":"app"}',
            "shop:unqualified": "a",
        },
        values={
            "aws:region": "eu-central-1",
            "shop:version": 1.1,
            "shop:on": True,
            "shop:yes": "yes",
            "shop:date": "2026-08-01",
            "shop:empty": None,
            "shop:token": "placeholder-of-the-secret-shop:token",
            "shop:sizes": [1, 2.5, 10, "1:30", "on"],
            "shop:database": {"user": "app", "password": "placeholder-of-the-secret-shop:database.password"},
            "shop:unqualified": "a",
        },
        secret_keys=frozenset({"shop:token", "shop:database"}),
        secrets={
            "placeholder-of-the-secret-shop:token": "shop:token",
            "placeholder-of-the-secret-shop:database.password": "shop:database.password",
        },
        environments=("shared",),
    )


def test_defaults_of_the_project_hold_where_the_stack_says_nothing(tmp_path: Path) -> None:
    project = PULUMI + "config:\n  size: {type: integer, default: 3}\n  aws:region: {value: us-east-1}\n  plain: x\n"
    config = load(write(tmp_path, "config: {'shop:size': 4}", project), "dev").config
    assert config == {"shop:size": "4", "aws:region": "us-east-1", "shop:plain": "x"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("config: [", "stacks/Pulumi.dev.yaml:1:10: is not YAML (expected the node content, but found '<stream end>')"),
        ("a: b: c", "stacks/Pulumi.dev.yaml:1:5: is not YAML (mapping values are not allowed here)"),
        ("[1]", "stacks/Pulumi.dev.yaml: [1] must hold a mapping; start it with `config:`"),
        ("", "stacks/Pulumi.dev.yaml: None must hold a mapping; start it with `config:`"),
        ("other: 1", "stacks/Pulumi.dev.yaml: config: None must be a mapping from `namespace:key` to values"),
        ("config: text", "stacks/Pulumi.dev.yaml: config: 'text' must be a mapping from `namespace:key` to values"),
        ("config:\n  a: 1\n  a: 2\n", "stacks/Pulumi.dev.yaml:3: has the key `a` twice in one mapping; keep one"),
    ],
)
def test_a_file_without_the_form_of_a_stack_file_says_where_and_what(tmp_path: Path, text: str, line: str) -> None:
    [told] = lines_of(write(tmp_path, text))
    assert told.startswith(line)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    write(tmp_path, "")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_bytes(b"config: \xff")
    assert lines_of(tmp_path) == ("stacks/Pulumi.dev.yaml: is not UTF-8 text (byte 8); save it as UTF-8",)


def test_a_missing_file_names_the_stacks_that_exist(tmp_path: Path) -> None:
    write(tmp_path, "config: {}")
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text("config: {}")
    assert stacks_of(tmp_path) == ["dev", "prod"]
    assert lines_of(tmp_path, "pord") == ("stacks/Pulumi.pord.yaml: does not exist; stacks that do: dev, prod",)


def test_a_folder_without_program_says_so(tmp_path: Path) -> None:
    assert lines_of(tmp_path) == (
        "Pulumi.yaml: does not exist, so no Pulumi program is here; run from the root of the checkout, or give --root",
    )


def test_every_place_of_the_configuration_has_a_path() -> None:
    assert dict(paths_of({"p:a": [{"b": 1}], "p:c": 2})) == {
        "p:a": [{"b": 1}],
        "p:a[0]": {"b": 1},
        "p:a[0].b": 1,
        "p:c": 2,
    }
