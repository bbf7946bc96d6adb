"""A release writes digests into stack files and disturbs nothing else in them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

OLD = "host.example/floodplain/service@sha256:" + "0" * 64
SERVICE = "host.example/floodplain/service@sha256:" + "a" * 64
AGENT = "host.example/floodplain/agent@sha256:" + "b" * 64

STACK = f"""\
# What prod is.
config:
  floodplain:protected: true   # never roll by accident

  floodplain:images:  # written by a release
    # the sizing service
    service: {OLD}  # keep
    other: "{OLD}"

  # pools
  floodplain:pools:
    - name: batch
      families: [r6id]   # NVMe
"""


def test_a_digest_is_replaced_and_a_new_one_added_beside_it(write_digests: ModuleType) -> None:
    assert (
        write_digests.with_images(STACK, {"service": SERVICE, "agent": AGENT})
        == f"""\
# What prod is.
config:
  floodplain:protected: true   # never roll by accident

  floodplain:images:  # written by a release
    # the sizing service
    service: {SERVICE}  # keep
    other: "{OLD}"
    agent: {AGENT}

  # pools
  floodplain:pools:
    - name: batch
      families: [r6id]   # NVMe
"""
    )


def test_writing_the_same_digests_again_changes_nothing(write_digests: ModuleType) -> None:
    once = write_digests.with_images(STACK, {"service": SERVICE, "agent": AGENT})
    assert write_digests.with_images(once, {"agent": AGENT, "service": SERVICE}) == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("config:\n  a:b: 1\n", f"config:\n  a:b: 1\n  floodplain:images:\n    service: {SERVICE}\n"),
        ("config:\n", f"config:\n  floodplain:images:\n    service: {SERVICE}\n"),
        (
            "config:\n    a:b:\n        - 1\n\n# end\nother: x\n",
            f"config:\n    a:b:\n        - 1\n    floodplain:images:\n      service: {SERVICE}\n\n# end\nother: x\n",
        ),
        ("config:\n  floodplain:images: {}\n", f"config:\n  floodplain:images:\n    service: {SERVICE}\n"),
        (
            "config:\n  floodplain:images: {}  # none yet\n  a:b: 1\n",
            f"config:\n  floodplain:images:  # none yet\n    service: {SERVICE}\n  a:b: 1\n",
        ),
        (
            'config:\n  "floodplain:images":\n    "service":\n',
            f'config:\n  "floodplain:images":\n    "service": {SERVICE}\n',
        ),
    ],
)
def test_the_key_is_made_or_opened_where_it_is_not_there_or_empty(
    write_digests: ModuleType, before: str, after: str
) -> None:
    assert write_digests.with_images(before, {"service": SERVICE}) == after


@pytest.mark.parametrize(
    ("text", "images", "message"),
    [
        (STACK, {"service": "host.example/x:latest"}, "does not name an image by digest"),
        (STACK, {"service": ""}, "does not name an image by digest"),
        *(
            (STACK, {"service": f"{start}{SERVICE}"}, "does not name an image by digest")
            for start in ("{", "&", "!", "%", "[", "*", "`", "#", "- ", "? ", "@", "|", ">")
        ),
        (STACK, {"service": SERVICE.upper()}, "does not name an image by digest"),
        (STACK, {"service": f"{SERVICE}\n"}, "does not name an image by digest"),
        (STACK, {"no": SERVICE}, "'no' is not the name of an image; known: service, agent"),
        (STACK, {"": SERVICE}, "'' is not the name of an image"),
        ("encryptionsalt: x\n", {"service": SERVICE}, "no `config:` block"),
        ("config:\n  a: [\n", {"service": SERVICE}, "is not YAML"),
        ("config:\n  floodplain:images:\n    service:\n      x@y\n", {"service": SERVICE}, "cannot be edited"),
        ("config:\n  floodplain:images:\n    service: >-\n      x\n", {"service": SERVICE}, "cannot be edited"),
        ('config:\n  floodplain:images:\n    service: "a\n      b"\n', {"service": SERVICE}, "cannot be edited"),
        ("config:\n  floodplain:images:\n  - service\n", {"service": SERVICE}, "cannot be edited"),
        ("config:\n  floodplain:images: &a\n    agent: x\n", {"service": SERVICE}, "one image a line"),
        ("config:\n  floodplain:images: {service: x}\n", {"service": SERVICE}, "line 2: .* one image a line"),
    ],
)
def test_what_cannot_be_edited_is_refused(
    write_digests: ModuleType, text: str, images: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_digests.with_images(text, images)


IMAGES = f"  floodplain:images:\n    service: {SERVICE}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The key in a text, and beside `config`.
        (
            "config:\n  a:b: |\n    floodplain:images:\n      service: x\n",
            f"config:\n  a:b: |\n    floodplain:images:\n      service: x\n{IMAGES}",
        ),
        (
            "floodplain:images:\n  service: x\nconfig:\n  a:b: 1\n",
            f"floodplain:images:\n  service: x\nconfig:\n  a:b: 1\n{IMAGES}",
        ),
        (
            "config:\n  a:b:\n    floodplain:images:\n      service: x\n",
            f"config:\n  a:b:\n    floodplain:images:\n      service: x\n{IMAGES}",
        ),
        # A hash within a value is no comment.
        (
            "config:\n  floodplain:images:\n    service: x#y  # old\n",
            f"config:\n  floodplain:images:\n    service: {SERVICE}  # old\n",
        ),
    ],
)
def test_only_the_key_of_the_stack_itself_is_edited(write_digests: ModuleType, before: str, after: str) -> None:
    assert write_digests.with_images(before, {"service": SERVICE}) == after


def test_without_a_reader_of_yaml_nothing_is_written(
    write_digests: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_digests, "yaml", None)
    with pytest.raises(ValueError, match="cannot be checked without PyYAML; install it"):
        write_digests.with_images(STACK, {"service": SERVICE})


def test_a_file_that_is_not_there_and_a_name_given_twice_are_told(
    write_digests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone, here = tmp_path / "Pulumi.gone.yaml", tmp_path / "Pulumi.a.yaml"
    here.write_text(STACK)
    monkeypatch.setattr("sys.argv", ["write_digests", str(gone), "--images", f"service={SERVICE}"])
    assert write_digests.main() == 1
    pair = f"service={SERVICE}"
    monkeypatch.setattr("sys.argv", ["write_digests", str(here), "--images", pair, pair])
    assert write_digests.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{gone}: cannot be read: No such file or directory",
        f"{here}: service is given twice; give each image once",
    ]


def test_a_refusal_leaves_every_file_as_it_was(
    write_digests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "Pulumi.a.yaml", tmp_path / "Pulumi.b.yaml"
    good.write_text(STACK)
    bad.write_text("nothing: here\n")
    monkeypatch.setattr("sys.argv", ["write_digests", str(good), str(bad), "--images", f"service={SERVICE}"])
    assert write_digests.main() == 1
    assert good.read_text() == STACK
    assert capsys.readouterr().err == f"{bad}: no `config:` block to write the images into\n"
    monkeypatch.setattr("sys.argv", ["write_digests", str(good), "--images", f"service={SERVICE}"])
    assert write_digests.main() == 0
    assert SERVICE in good.read_text()


# Two letters in front, since `no` and `on` are booleans in YAML.
names = st.sampled_from(["service", "agent"]) | st.from_regex(r"im[a-z0-9]{1,8}", fullmatch=True)
references = st.integers(0, 2**256 - 1).map(lambda digest: f"host.example/x@sha256:{digest:064x}")
images = st.dictionaries(names, references, max_size=4)
released = st.dictionaries(st.sampled_from(["service", "agent"]), references, min_size=1)


@settings(max_examples=50)
@given(old=images, new=released)
def test_a_yaml_reader_sees_the_old_images_updated_by_the_new(
    write_digests: ModuleType, old: dict[str, str], new: dict[str, str]
) -> None:
    text = yaml.safe_dump({"config": {"a:b": [1], "floodplain:images": old, "z:z": {"k": "v"}}}, sort_keys=False)
    read = yaml.safe_load(write_digests.with_images(text, new))
    assert read == {"config": {"a:b": [1], "floodplain:images": {**old, **new}, "z:z": {"k": "v"}}}
