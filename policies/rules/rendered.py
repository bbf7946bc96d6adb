"""What may a rule know of a resource's options? The engine tells little; the offline preview tells more.

The engine's analyzer protocol carries neither `retainOnDelete` nor which inputs are secret: pulumi_policy takes
the secret marks off before a rule sees the value. Whoever calls the rules with a whole rendered program can
give `RenderedOptions` instead of `PolicyResourceOptions`, and the rules then judge exactly.
"""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_policy import PolicyCustomTimeouts, PolicyResourceOptions

from .proxies import Path


class RenderedOptions(PolicyResourceOptions):
    """The options of a resource of which all is known.

    `secret_paths` are the paths of the values that are marked secret, as `("stringData", "url")`; everything
    below such a path is secret, too.
    """

    def __init__(
        self,
        *,
        protect: bool = False,
        retain_on_delete: bool = False,
        secret_paths: Iterable[Path] = (),
        ignore_changes: Iterable[str] = (),
        delete_before_replace: bool | None = None,
        aliases: Iterable[str] = (),
        additional_secret_outputs: Iterable[str] = (),
        parent: str | None = None,
    ) -> None:
        super().__init__(
            protect,
            list(ignore_changes),
            delete_before_replace,
            list(aliases),
            PolicyCustomTimeouts(0, 0, 0),
            list(additional_secret_outputs),
            parent,
        )
        self.retain_on_delete = retain_on_delete
        self.secret_paths = tuple(tuple(path) for path in secret_paths)


def is_kept(options: PolicyResourceOptions) -> bool:
    """Whether the resource outlives a destroy: protected or, where that is known, retained."""
    retained = isinstance(options, RenderedOptions) and options.retain_on_delete
    return bool(options.protect) or retained


def is_secret(options: PolicyResourceOptions, path: Path) -> bool | None:
    """Whether the input at `path` is marked secret; None where the engine keeps that from the rule.

    `additionalSecretOutputs` counts: the SDK lists there every property that a provider keeps encrypted.
    """
    if path and path[0] in tuple(options.additional_secret_outputs):
        return True
    if not isinstance(options, RenderedOptions):
        return None
    return any(path[: len(secret)] == secret for secret in options.secret_paths)
