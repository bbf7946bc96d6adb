from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from floodplain import pools
from preview import show
from preview.problems import PreviewError
from preview.recording import Recording

CHECKOUT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def prod() -> Recording:
    return show.rendered("prod", CHECKOUT)


def test_the_boot_text_is_that_of_the_node_class_byte_for_byte(prod: Recording) -> None:
    node_class = next(one for one in prod.of(":EC2NodeClass") if one.inputs["metadata"]["name"] == "swap")
    text = show.user_data(prod, "swap")
    assert text == node_class.inputs["spec"]["userData"].encode()
    assert text.startswith(b"MIME-Version: 1.0\n")


def test_objects_are_yaml_that_reads_back_as_what_is_registered(prod: Recording) -> None:
    for kind, text in (("EC2NodeClass", show.node_class(prod, "swap")), ("NodePool", show.node_pool(prod, "swap"))):
        manifest = yaml.safe_load(text)
        assert list(manifest) == ["apiVersion", "kind", "metadata", "spec"]
        resource = next(one for one in prod.of(f":{kind}") if one.inputs["metadata"]["name"] == "swap")
        assert manifest == resource.inputs


def test_pools_are_listed_and_dumped_as_floodplain_writes_them(prod: Recording) -> None:
    assert show.pool_names(prod) == ["swap", "swap-large"]
    documents = pools.read(show.pools_json(prod))
    assert show.pools_json(prod) == pools.dump(documents)
    assert show.pools_json(prod) == prod.outputs["pools"].encode()


def test_policies_are_opened_up_with_their_length(prod: Recording) -> None:
    text = show.policies(prod)
    heads = [line for line in text.splitlines() if line.startswith("# ")]
    assert sum("of 6,144 characters" in head for head in heads) == 6
    first = text.split("\n\n")[0]
    assert json.loads(first.partition("\n")[2])["Version"] == "2012-10-17"


def test_an_unknown_pool_names_those_that_exist(prod: Recording) -> None:
    for one in (show.user_data, show.node_class, show.node_pool):
        with pytest.raises(PreviewError) as caught:
            one(prod, "swop")
        assert caught.value.lines == ("POOL: 'swop' is no pool of this stack; its pools: swap, swap-large",)


def test_a_stack_without_pools_says_none() -> None:
    with pytest.raises(PreviewError, match="its pools: none"):
        show.user_data(Recording(()), "swap")


def test_shown_yaml_is_what_kubectl_would_take(prod: Recording) -> None:
    """No Pulumi marks and no nulls left in it."""
    text = show.node_class(prod, "swap") + show.node_pool(prod, "swap")
    assert "<secret>" not in text and "<computed>" not in text and ": null" not in text
