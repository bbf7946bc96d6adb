"""The base of every settings model: camelCase in YAML, snake_case in Python, nothing unknown, frozen."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Settings(BaseModel):
    """A frozen model that reads `camelCase` or `snake_case` keys and refuses keys it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        validate_default=True,
        use_enum_values=False,
    )

    def __hash__(self) -> int:
        """Settings are values: equal ones hash alike, maps in them included, so that what follows can be cached."""
        return hash(self.model_dump_json())
