"""One stack of a Pulumi project folder under the real CLI."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from testbed.engine_error import EngineError
from testbed.pulumi.engine import Answer, Engine, required
from testbed.pulumi.mirror import mirrored, stack_file
from testbed.pulumi.steps import Diagnostic, Outcome, events, outcome, preview_steps


class RefusedError(EngineError):
    """The CLI did not finish. `outcome` holds the steps that were taken all the same."""

    def __init__(self, error: EngineError, found: Outcome) -> None:
        # What is wrong in the engine's words; what else it prints, the stack's outputs above all, may be very long.
        wrong = [one for one in found.diagnostics if one.severity == "error"]
        told = [f"{one.urn.rpartition('::')[2] or 'the stack'}: {one.message}" for one in wrong]
        head = str(error).partition("; it said:")[0]
        super().__init__("\n".join([f"{head}:", *(f"    {line}" for line in told)]) if told else str(error))
        self.outcome = found


class Project:
    """The stack is made on entering. Its folder is a mirror, so that the checkout stays as it is."""

    def __init__(
        self,
        engine: Engine,
        project: Path,
        stack: str,
        *,
        settings: Mapping[str, Any] = {},
        secrets: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`settings` are paths below `config` and their values, `floodplain:karpenter.crdChart`, set in the copy of
        the stack's file; `secrets` are keys and texts that the CLI encrypts there."""
        self._engine, self.stack = engine, stack
        self.folder = mirrored(project, _fresh(engine.folder / "projects", f"{project.name}-{stack}"))
        self.file = stack_file(self.folder, stack)
        self._count = 0
        if settings:
            self.edit(lambda config: _set(config, settings))
        self._run("stack", "init", stack)
        for key, text in secrets:
            engine.run("config", "set", "--secret", key, "--stack", stack, folder=self.folder, stdin=text)

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the stack's configuration in the copy of its file."""
        content = (yaml.safe_load(self.file.read_text()) if self.file.exists() else None) or {}
        change(content.setdefault("config", {}))
        self.file.write_text(yaml.safe_dump(content, sort_keys=False))

    def up(self, *more: str, timeout_seconds: float = 600) -> Outcome:
        """`pulumi up`. Raises RefusedError."""
        return self._update("up", "--skip-preview", "--yes", *more, timeout_seconds=timeout_seconds)

    def destroy(self, *more: str, timeout_seconds: float = 600) -> Outcome:
        """`pulumi destroy`. Raises RefusedError."""
        return self._update("destroy", "--skip-preview", "--yes", *more, timeout_seconds=timeout_seconds)

    def refresh(self, *more: str, timeout_seconds: float = 600) -> Outcome:
        """`pulumi refresh`. Raises RefusedError."""
        return self._update("refresh", "--skip-preview", "--yes", *more, timeout_seconds=timeout_seconds)

    def preview(self, *more: str, timeout_seconds: float = 600) -> Outcome:
        """`pulumi preview --json`, resources that stay the same included. Raises RefusedError."""
        arguments = ("preview", "--json", "--show-sames", "--stack", self.stack, *more)
        log = self._new_log()
        answer = self._engine.ask(
            *arguments, "--event-log", str(log), folder=self.folder, timeout_seconds=timeout_seconds
        )
        logged = outcome(list(events(_lines(log))), answer.seconds)
        try:
            document = json.loads(answer.stdout)
        except ValueError:
            document = {}
        found = Outcome(
            preview_steps(document), _diagnostics(document) or logged.diagnostics, logged.violations, answer.seconds
        )
        self._require(arguments, answer, found)
        return found

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets shown."""
        answer = self._run("stack", "output", "--json", "--show-secrets", "--stack", self.stack)
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def state(self) -> dict[str, dict[str, Any]]:
        """The stack's resources as the engine keeps them, by URN. Secrets are ciphertext."""
        answer = self._run("stack", "export", "--stack", self.stack)
        found = json.loads(answer.stdout)["deployment"].get("resources") or ()
        return {one["urn"]: one for one in found}

    def remove(self) -> None:
        """Forget the stack, and what it may still own."""
        self._run("stack", "rm", "--force", "--yes", "--preserve-config", self.stack)

    def _update(self, command: str, *more: str, timeout_seconds: float) -> Outcome:
        arguments = (command, "--stack", self.stack, *more)
        log = self._new_log()
        answer = self._engine.ask(
            *arguments, "--event-log", str(log), folder=self.folder, timeout_seconds=timeout_seconds
        )
        found = outcome(list(events(_lines(log))), answer.seconds)
        self._require(arguments, answer, found)
        return found

    @staticmethod
    def _require(arguments: Sequence[str], answer: Answer, found: Outcome) -> None:
        try:
            required(arguments, answer)
        except EngineError as error:
            raise RefusedError(error, found) from None

    def _run(self, *arguments: str) -> Answer:
        return self._engine.run(*arguments, folder=self.folder)

    def _new_log(self) -> Path:
        self._count += 1
        return self.folder.parent / f"{self.folder.name}.events-{self._count}.jsonl"


def _fresh(folder: Path, name: str) -> Path:
    """A new folder of that name, or of that name with a number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        path = folder / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            path.mkdir()
            return path
    raise EngineError(f"{folder} holds too many projects called {name}; remove it")


def _set(config: dict[str, Any], settings: Mapping[str, Any]) -> None:
    for path, value in settings.items():
        *above, last = path.split(".")
        place = config
        for key in above:
            place = place.setdefault(key, {})
        place[last] = value


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def _diagnostics(document: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(one["severity"], one["message"].strip(), one.get("urn", ""))
        for one in document.get("diagnostics") or ()
        if not one.get("ephemeral")
    )
