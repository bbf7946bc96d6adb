"""The sizing service with all that it is installed with: its image, its settings, and the pools that it plans for.

Pure: the ConfigMap's content and everything that can be wrong before a cluster is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from floodplain.pools import PoolDocument, PoolDocumentError, dump, read
from floodplain.problem import RuleError
from floodplain.rules import rule
from floodplain.settings import SEVERAL_LINES

from .described_pools import DescribedPools
from .image_digest import ImageDigest
from .sizing_names import POOLS_KEY, SETTINGS_KEY
from .sizing_settings import SizingServiceSettings


class SizingInstallation(DescribedPools):
    """What `SizingService` takes: pools as `SwapNodePool` takes them, and documents of those that something else makes.

    No store is set up yet, so that there is no database address here: one with a password in it is refused as a key
    that nobody knows.
    """

    image: ImageDigest
    documents: Annotated[str, SEVERAL_LINES] = ""
    sizing: SizingServiceSettings = SizingServiceSettings()

    @rule("pools", "documents")
    def _a_pool_is_named(self) -> Iterator[RuleError]:
        if not self.pools and not self.documents.strip():
            remedy = "list the pools as SwapNodePool takes them; as documents those that something else makes"
            yield RuleError("is empty, as is documents, so nothing could be planned", remedy, ("pools",))

    @rule("documents")
    def _documents_can_be_read(self) -> Iterator[RuleError]:
        try:
            _read(self.documents)
        except PoolDocumentError as error:
            for problem in error.problems:
                within = problem.path.startswith("pools[")
                rule = f"{problem.path} {problem.rule}" if within else problem.rule
                yield RuleError(rule, problem.remedy, ("documents",))

    @rule("pools", "documents")
    def _pools_differ(self) -> Iterator[RuleError]:
        try:
            others = _read(self.documents)
        except PoolDocumentError:
            return
        names = [one.name for one in self.pools]
        for index, name in enumerate(names):
            if name in names[:index]:
                remedy = "give each pool its own"
                yield RuleError(f"is used by pools[{names.index(name)}] too", remedy, ("pools", index, "name"), name)
        for one in others:
            if one.name in names:
                remedy = "leave the document out: pools says it already"
                yield RuleError("has a pool that stands under pools too", remedy, ("documents",), one.name)

    @cached_property
    def pool_documents(self) -> tuple[PoolDocument, ...]:
        """Every pool that jobs may be planned for."""
        return (*self.derived_documents, *_read(self.documents))

    def files(self) -> dict[str, str]:
        """What the service reads, by file name. Of the settings only what differs from its own defaults."""
        settings = self.sizing.settings.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {
            POOLS_KEY: dump(self.pool_documents).decode(),
            SETTINGS_KEY: json.dumps(settings, indent=2, sort_keys=True) + "\n",
        }


def _read(text: str) -> tuple[PoolDocument, ...]:
    return read(text.encode()) if text.strip() else ()
