"""Does a text look like a secret? Patterns with few false alarms, and names under which secrets are kept.

Not a scanner of entropy: what has no tell-tale form and no tell-tale name is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import yaml

from .proxies import each, get, mapping, text

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{40,})")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}")),
    ("a signed token (JWT)", re.compile(r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}")),
)
# user:password@host, where the password is no reference: $(VAR), ${VAR}, {{ var }}, <password>, ***.
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}://[^\s/?#:@'\"]*:(?P<password>[^\s/?#@'\"]+)@[^\s/?#@]", re.IGNORECASE)

_NAME = re.compile(
    r"(?:.*[_.\-]|.*(?<=[a-z0-9]))?(?:password|passwd|passphrase|token|secret[_-]?key|api[_-]?key"
    r"|access[_-]?key|private[_-]?key|client[_-]?secret)",
    re.IGNORECASE,
)
# Tokens that make a request repeatable, or the next page; no secrets.
_HARMLESS_NAMES = ("clientrequesttoken", "clienttoken", "creationtoken", "idempotencytoken", "nexttoken")
_ENV_NAME = re.compile(r"(?:.*_)?SECRET", re.IGNORECASE)
_LINE = re.compile(r"""^\s*(?:export\s+)?["']?(?P<name>[\w.-]+)["']?\s*[:=]\s*(?P<value>["']?\S.*?)\s*,?\s*$""")

_REFERENCE = re.compile(r"^\s*(?:\$|\{\{|%\(|<[^>]*>$|\*+$|file:|env:|vault:|arn:)|^(?:/[\w.-]+){2,}$")
_NO_SECRET = ("", "true", "false", "null", "none", "yes", "no", "~", "|", ">", "{}", "[]")


def is_secret_name(name: str) -> bool:
    """Whether a key usually holds a secret itself: `adminPassword`, `API_KEY`; not `tokenFile`, `secretName`."""
    return _NAME.fullmatch(name) is not None and name.lower() not in _HARMLESS_NAMES


def is_secret_variable(name: str) -> bool:
    """The same for environment variables, where a plain `..._SECRET` holds one, too."""
    return is_secret_name(name) or _ENV_NAME.fullmatch(name) is not None


def is_literal(value: str) -> bool:
    """Whether a value is written out: no reference, no path of a file, no switch and no number."""
    plain = value.strip().strip("\"'")
    return (
        plain.lower() not in _NO_SECRET
        and _REFERENCE.match(plain) is None
        and re.fullmatch(r"[0-9.]+[smhd]?", plain) is None
    )


@lru_cache(maxsize=8192)
def forms(value: str) -> tuple[str, ...]:
    """What in a text looks like a secret by its form alone, in words that do not repeat it."""
    return tuple(_forms(value))


def _forms(value: str) -> Iterator[str]:
    for words, pattern in _FORMS:
        if pattern.search(value):
            yield words
    if any(is_literal(match["password"]) for match in _URL.finditer(value)):
        yield "a password in a URL"
    if "current-context" in value or "kind: Config" in value or '"Config"' in value:
        yield from kubeconfig_credentials(value)


def kubeconfig_credentials(value: str) -> Iterator[str]:
    """Credentials written out in a kubeconfig. One that calls a program (exec) has none."""
    try:
        content = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        return
    if text(get(content, "kind")) not in ("Config", None):
        return
    for entry in each(get(content, "users")):
        user: Mapping[str, object] = mapping(get(entry, "user"))
        for key in ("token", "password", "client-key-data"):
            if is_literal(text(get(user, key)) or ""):
                yield f"a {key} in a kubeconfig"


def named_lines(value: str) -> Iterator[str]:
    """Names in a text of settings (`KEY=value`, `key: value`) under which a secret is written out."""
    for line in value.splitlines():
        match = _LINE.match(line)
        if match and is_secret_name(match["name"]) and is_literal(match["value"]):
            yield match["name"]
