"""What a service process is told: where it listens, which files it reads, how much it takes. Pure.

Every setting has an environment variable (`FLOODPLAIN_` and its name in capitals); the command line stands above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from floodplain.problem import Problem, problems_of
from floodplain.settings import Settings

DEFAULT_POOLS = "/etc/floodplain/pools.json"
DEFAULT_SIZING = "/etc/floodplain/sizing.json"
PREFIX = "FLOODPLAIN_"
KUBERNETES = "KUBERNETES_SERVICE_HOST"
"""Set by kubelet in every container."""

Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
Given = TypeVar("Given", bound="ServiceSettings")


class ServiceSettingsError(ValueError):
    """Settings that cannot be used. `problems` names each variable or option."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class ServiceSettings(Settings):
    """Of any process of the service. Those of one process are its subclass."""

    host: Annotated[str, Field(min_length=1, max_length=253)] = "127.0.0.1"
    """Address to listen on. In a cluster all of them, elsewhere loopback: nobody else is asked to see a desk."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """0 takes a free one, which the log names."""
    pools: Annotated[str, Field(min_length=1)] | None = None
    """Pool documents. None: the default file, and the example pool where that does not exist."""
    settings: Annotated[str, Field(min_length=1)] | None = None
    """SizingSettings as JSON. None: the default file if it exists."""
    prices: Annotated[str, Field(min_length=1)] | None = None
    """Price table. Without one plans carry no cost."""
    poll_seconds: Annotated[float, Field(gt=0, le=3600)] = 3
    """Between two looks at the files."""
    drain_seconds: Seconds = 0
    """From the signal to the end until connections are refused, so that whoever routes to us has seen "not ready"."""
    grace_seconds: Seconds = 20
    """For requests that run when connections are refused. Then they are cut off."""
    body_bytes: Annotated[int, Field(ge=1024, le=64 << 20)] = 256 << 10
    """Largest request body."""
    in_flight: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Requests worked on at once; more are told to come back. Health and metrics do not count."""
    request_seconds: Annotated[float, Field(gt=0, le=3600)] = 10
    """For the whole of a body to arrive, and again for the answer to be made."""


def service_settings(
    model: type[Given], environment: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> Given:
    """The settings from the environment and from options of the command line (None: not given).

    Raises ServiceSettingsError with every problem.
    """
    values: dict[str, Any] = dict(_of_the_place(environment))
    names: dict[str, str] = {}
    for field in model.model_fields:
        text = environment.get(PREFIX + field.upper(), "").strip()
        if text:
            values[field], names[field] = text, PREFIX + field.upper()
    for field, value in (options or {}).items():
        if value is not None:
            values[field], names[field] = value, f"--{field.replace('_', '-')}"
    try:
        return model(**values)
    except ValidationError as error:
        found = problems_of(error, model, snake=True)
        raise ServiceSettingsError(
            tuple(Problem(names.get(one.path, one.path), one.rule, one.remedy, one.value) for one in found)
        ) from None


def _of_the_place(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """In a pod others must reach us, and stop to send only some seconds after we are told to end."""
    api = environment.get(KUBERNETES, "")
    if not api:
        return {}
    return {"host": "::" if ":" in api else "0.0.0.0", "drain_seconds": 5}
