"""EC2's query protocol: forms with numbered fields in, XML out. Pure; knows no action of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree
from xml.sax.saxutils import escape

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"


def fields(body: bytes) -> dict[str, str]:
    """The fields of a form, in their order."""
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def form(found: Mapping[str, str]) -> bytes:
    """The body of a form."""
    return urlencode(found).encode()


def numbered(found: Mapping[str, str], name: str) -> list[str]:
    """The values of NAME.1, NAME.2 and so on."""
    pattern = re.compile(rf"{re.escape(name)}\.([0-9]+)")
    matches = [(int(match[1]), value) for key, value in found.items() if (match := pattern.fullmatch(key))]
    return [value for _, value in sorted(matches)]


def with_numbered(found: Mapping[str, str], name: str, values: Iterable[str]) -> dict[str, str]:
    """The same form with NAME.1, NAME.2 and so on replaced."""
    pattern = re.compile(rf"{re.escape(name)}\.[0-9]+")
    kept = {key: value for key, value in found.items() if not pattern.fullmatch(key)}
    return kept | {f"{name}.{number}": value for number, value in enumerate(values, start=1)}


def each_once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def read_xml(body: bytes) -> ElementTree.Element:
    """The answer without its namespace, so that elements are found by their plain names."""
    return ElementTree.fromstring(re.sub(rb' xmlns="[^"]+"', b"", body, count=1))


def write_xml(answer: ElementTree.Element) -> bytes:
    """The answer as EC2 sends it, with its namespace."""
    answer.set("xmlns", NAMESPACE)
    written: bytes = ElementTree.tostring(answer, encoding="utf-8", xml_declaration=True)
    return written


def error(code: str, message: str) -> bytes:
    """EC2's error document."""
    return (
        f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
        "<RequestID>testbed</RequestID></Response>"
    ).encode()


def error_code(body: bytes) -> str:
    """The code in an error document of the query protocol or of the JSON ones; empty when there is none."""
    found = re.search(rb"<Code>([^<]+)</Code>|\"(?:__type|code|Code)\":\s*\"([^\"]+)\"", body)
    return (found[1] or found[2]).decode().rpartition("#")[2] if found else ""


def add_spot_requests(answer: ElementTree.Element) -> None:
    """Give each spot instance in an answer of DescribeInstances the request it came from.

    By its id Karpenter tells that an instance it reads back is a spot instance.
    """
    for instance in answer.iter("item"):
        lifecycle, identity = instance.findtext("instanceLifecycle"), instance.findtext("instanceId")
        if lifecycle == "spot" and identity and instance.find("spotInstanceRequestId") is None:
            request = ElementTree.SubElement(instance, "spotInstanceRequestId")
            request.text = f"sir-{identity.removeprefix('i-')[:8]}"
