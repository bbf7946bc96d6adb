"""What a person reads when a real engine could not be built, started or reached."""


class EngineError(Exception):
    """Says what was asked, which process failed, its last lines, and what to do. Shown without a traceback."""
