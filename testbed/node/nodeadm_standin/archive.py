"""Which parts does a launch template's user data have? Read from its raw bytes, as the instance gets them."""

from __future__ import annotations

import base64
import binascii
import contextlib
import email
import gzip
from dataclasses import dataclass
from email import policy
from email.message import Message

NODE_CONFIG = "application/node.eks.aws"
SHELL = "text/x-shellscript"


@dataclass(frozen=True)
class Part:
    """One part of the archive, in the order of the text."""

    media_type: str
    body: str


def parts(user_data: bytes) -> list[Part]:
    """All parts. Text that is no MIME archive is one NodeConfig to nodeadm, and one script to cloud-init if it has a
    shebang, as with the real ones."""
    data = _plain(user_data)
    message: Message = email.message_from_bytes(data, policy=policy.compat32)
    if not message.get_content_type().startswith("multipart/") or not message.is_multipart():
        text = data.decode()
        return [Part(SHELL if text.startswith("#!") else NODE_CONFIG, text)]
    return [Part(part.get_content_type(), _body(part)) for part in message.walk() if not part.is_multipart()]


def _body(part: Message) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    text = payload.decode()
    return text if not text or text.endswith("\n") else text + "\n"


def _plain(user_data: bytes) -> bytes:
    """EC2's API carries base64; the metadata service hands out what it decodes to. Both may be gzip."""
    decoded = user_data
    with contextlib.suppress(binascii.Error):
        decoded = base64.b64decode(user_data, validate=True)
    return gzip.decompress(decoded) if decoded.startswith(b"\x1f\x8b") else decoded
