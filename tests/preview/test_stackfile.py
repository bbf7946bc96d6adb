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
  shop:version: "1.10"
  shop:ratio: 0.25
  shop:mask: 0x1f
  shop:off: FALSE
  shop:on: true
  shop:yes: yes
  shop:date: "2026-08-01"
  shop:empty:
  shop:token: {secure: v1:xyz}
  shop:sizes: [1, 2.5, 2.0, 1:30, on]
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
            "shop:ratio": "0.25",
            "shop:mask": "31",
            "shop:off": "false",
            "shop:on": "true",
            "shop:yes": "yes",
            "shop:date": "2026-08-01",
            "shop:empty": "",
            "shop:token": "placeholder-of-the-secret-shop:token",
            "shop:sizes": '[1,2.5,2,"1:30","on"]',
            "shop:database": '{"password":"placeholder-of-the-secret-shop:database.password","user":"app"}',
            "shop:unqualified": "a",
        },
        values={
            "aws:region": "eu-central-1",
            "shop:version": "1.10",
            "shop:ratio": 0.25,
            "shop:mask": 31,
            "shop:off": False,
            "shop:on": True,
            "shop:yes": "yes",
            "shop:date": "2026-08-01",
            "shop:empty": None,
            "shop:token": "placeholder-of-the-secret-shop:token",
            "shop:sizes": [1, 2.5, 2, "1:30", "on"],
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
        (
            "encryptionsalt: v1:a",
            "stacks/Pulumi.dev.yaml: config: None must be a mapping from `namespace:key` to values",
        ),
        ("config: text", "stacks/Pulumi.dev.yaml: config: 'text' must be a mapping from `namespace:key` to values"),
        ("config:\n  a: 1\n  a: 2\n", "stacks/Pulumi.dev.yaml:3: has the key `a` twice in one mapping; keep one"),
    ],
)
def test_a_file_without_the_form_of_a_stack_file_says_where_and_what(tmp_path: Path, text: str, line: str) -> None:
    [told] = lines_of(write(tmp_path, text))
    assert told.startswith(line)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("2026-08-01", "is a time to Pulumi, which the program gets in another form"),
        ("2026-08-01T10:00:00Z", "is a time to Pulumi, which the program gets in another form"),
        ("2026-8-1 10:00:00", "is a time to Pulumi, which the program gets in another form"),
        ("010", "has a zero first, which makes it an octal number to Pulumi"),
        ("-089", "has a zero first, which makes it an octal number to Pulumi"),
        ("0b101", "is a number of another base to Pulumi"),
        ("0XFF", "is a number of another base to Pulumi"),
        ("1_000", "is a number without its underscores to Pulumi"),
        ("1_000.5", "is a number without its underscores to Pulumi"),
        ("0x_ff", "is a number without its underscores to Pulumi"),
        (".inf", "is a number that JSON cannot hold"),
        ("-.Inf", "is a number that JSON cannot hold"),
        (".NAN", "is a number that JSON cannot hold"),
        ("18446744073709551616", "is a number of more than 64 bits"),
        ("1e999", "is a number of more than 64 bits"),
    ],
)
def test_plain_values_that_pulumi_reads_in_another_way_must_be_quoted(tmp_path: Path, written: str, told: str) -> None:
    text = f"config:\n  shop:sizes:\n    - zip: {written}\n"
    assert lines_of(write(tmp_path, text)) == (
        f"stacks/Pulumi.dev.yaml: shop:sizes[0].zip: '{written}' {told}; put it in quotes",
    )
    quoted = load(write(tmp_path, text.replace(written, f'"{written}"')), "dev")
    assert quoted.values == {"shop:sizes": [{"zip": written}]}


@pytest.mark.parametrize("written", ["1.10", "1.0", "1e3", "1000000.5", ".5", "0.00001"])
def test_a_number_that_pulumi_spells_in_another_way_must_be_quoted_where_the_program_gets_the_text(
    tmp_path: Path, written: str
) -> None:
    assert lines_of(write(tmp_path, f"config:\n  shop:version: {written}\n")) == (
        f"stacks/Pulumi.dev.yaml: shop:version: '{written}' is a number that Pulumi hands over in another spelling; "
        "put it in quotes",
    )
    assert load(write(tmp_path, f"config:\n  shop:in: [{written}]\n"), "dev").values == {"shop:in": [float(written)]}


@pytest.mark.parametrize("text", ["on", "1:30", "_1", "1.2.3", "10Gi", "v1_0", "0x", "2026", "26-08-01", "1e", "-"])
def test_plain_texts_stay_texts(tmp_path: Path, text: str) -> None:
    expected = 2026 if text == "2026" else text
    assert load(write(tmp_path, f"config:\n  shop:in: {{a: {text}}}\n"), "dev").values == {"shop:in": {"a": expected}}


@pytest.mark.parametrize(("key", "name"), [("true", "true"), ("8080", "8080"), ("~", "~"), ("? [a]\n   ", "[...]")])
def test_keys_are_texts(tmp_path: Path, key: str, name: str) -> None:
    assert lines_of(write(tmp_path, f"config:\n  shop:a:\n   {key}: 1\n")) == (
        f"stacks/Pulumi.dev.yaml: shop:a: has the key `{name}`, which is no text to Pulumi; put it in quotes",
    )


def test_a_mapping_may_be_merged_into_one_with_keys_of_its_own(tmp_path: Path) -> None:
    text = "config:\n  shop:pools:\n  - &p {name: a, size: 1}\n  - {<<: *p, name: b}\n  - {<<: *p, name: c}\n"
    pools = [{"name": "a", "size": 1}, {"name": "b", "size": 1}, {"name": "c", "size": 1}]
    assert load(write(tmp_path, text), "dev").values == {"shop:pools": pools}
    assert lines_of(write(tmp_path, text.replace("name: b", "name: b, name: b"))) == (
        "stacks/Pulumi.dev.yaml:4: has the key `name` twice in one mapping; keep one",
    )


@pytest.mark.parametrize("tag", ["!!binary YQ==", "!!set {a}", "!!timestamp 2026-01-01", "!!omap [a: 1]", "!own a"])
def test_only_the_tags_of_plain_values_are_taken(tmp_path: Path, tag: str) -> None:
    assert lines_of(write(tmp_path, f"config:\n  shop:a: {tag}\n")) == (
        f"stacks/Pulumi.dev.yaml: shop:a: has the tag `{tag.split()[0]}`, which no stack file needs; take the tag off",
    )


@pytest.mark.parametrize(("tag", "text"), [("bool", "foo"), ("int", "x"), ("float", "1,5"), ("null", "a")])
def test_a_tag_that_its_value_does_not_fit_is_told(tmp_path: Path, tag: str, text: str) -> None:
    assert lines_of(write(tmp_path, f"config:\n  shop:a: !!{tag} {text}\n")) == (
        f"stacks/Pulumi.dev.yaml: shop:a: '{text}' is not what its tag `!!{tag}` says; take the tag off",
    )


def bomb(levels: int) -> str:
    lines = ["config:", "  shop:a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  shop:a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "config:\n  shop:a: &a\n    b: [*a]\n",
            "stacks/Pulumi.dev.yaml:2: has an anchor that contains itself; take the alias out of it",
        ),
        (
            "config:\n  shop:a: " + "[" * 3000 + "]" * 3000,
            "stacks/Pulumi.dev.yaml: is nested more than 100 levels deep; take the brackets or levels apart",
        ),
        (
            "config:\n  shop:a: " + "[" * 110 + "]" * 110,
            "stacks/Pulumi.dev.yaml: is nested more than 100 levels deep; take the brackets or levels apart",
        ),
        (
            bomb(9),
            "stacks/Pulumi.dev.yaml: holds more than 50,000 values when its aliases are written out; "
            "use fewer aliases (`*name`)",
        ),
    ],
)
def test_files_without_end_are_refused(tmp_path: Path, text: str, line: str) -> None:
    assert lines_of(write(tmp_path, text)) == (line,)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "floodplain:protected: true",
            "floodplain:protected: is read by nobody at the top of the file; indent it below ",
        ),
        ("envronment: [a]", "envronment: is read by nobody at the top of the file; did you mean `environment`?"),
        ("environment: 5", "environment: 5 must be a list of environments; write `environment: [name]`"),
        ("environment: {imports: 5}", "environment: {'imports': 5} must be a list of environments; write "),
        ("environment: [[a]]", "environment: [['a']] must be a list of environments; write "),
    ],
)
def test_what_stands_beside_the_configuration_is_read_too(tmp_path: Path, text: str, line: str) -> None:
    [told] = lines_of(write(tmp_path, f"config: {{}}\n{text}\n"))
    assert told.startswith(f"stacks/Pulumi.dev.yaml: {line}")


def test_environments_have_several_forms(tmp_path: Path) -> None:
    def environments(text: str) -> tuple[str, ...]:
        return load(write(tmp_path, f"config: {{}}\nenvironment: {text}\n"), "dev").environments

    assert environments("") == ()
    assert environments("[a, {b: {merge: false}}]") == ("a", "b")
    assert environments("{imports: [a], values: {c: 1}}") == ("a", "values")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "config: {}")
    (tmp_path / "stacks" / "Pulumi.dir.yaml").mkdir()
    assert stacks_of(tmp_path) == ["dev"]
    assert lines_of(tmp_path, "dir") == (
        "stacks/Pulumi.dir.yaml: cannot be read (Is a directory); make it a file that you may read",
    )
    text_of = Path.read_text

    def refuse(path: Path, encoding: str | None = None) -> str:
        if path.name == "Pulumi.dev.yaml":
            raise PermissionError(13, "Permission denied")
        return text_of(path, encoding=encoding)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert lines_of(tmp_path) == (
        "stacks/Pulumi.dev.yaml: cannot be read (Permission denied); make it a file that you may read",
    )


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


def test_a_path_where_a_name_is_wanted_is_told_by_the_name(tmp_path: Path) -> None:
    write(tmp_path, "config: {}\n")
    (line,) = lines_of(tmp_path, "stacks/Pulumi.dev.yaml")
    assert line.endswith("does not exist; give the stack's name alone: dev")
