"""Where a Go module lies unpacked: CRDs, charts and stages are read from there and never copied into the project."""

import json
import re
from functools import cache
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.table import ENGINES, FOLDER
from testbed.engines.toolchain import Go, go
from testbed.engines.trouble import explained


def requiring(module: str) -> Path:
    """The folder whose go.mod requires `module`: one that asks for it itself before one that needs it by others."""
    line = re.compile(rf"^(?:require\s+|\s+){re.escape(module)}\s+v\S+(.*)$", re.MULTILINE)
    indirect = []
    for folder in dict.fromkeys(engine.folder for engine in ENGINES.values()):
        found = line.search((FOLDER / folder / "go.mod").read_text(encoding="utf-8"))
        if found and "// indirect" not in found[1]:
            return FOLDER / folder
        if found:
            indirect.append(FOLDER / folder)
    if not indirect:
        raise EngineError(f"no go.mod of testbed/engines requires {module}")
    return indirect[0]


@cache
def module_folder(module: str) -> Path:
    """The unpacked Go module, at the version its engine is built from; fetched first where it is not there yet."""
    return unpacked(module, go())


def unpacked(module: str, toolchain: Go) -> Path:
    """As `module_folder`, for a toolchain found already."""
    done = toolchain.run("mod", "download", "-json", module, cwd=requiring(module))
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {"Error": done.stderr}
    if folder := said.get("Dir"):
        return Path(folder)
    raise explained(f"the Go module {module}", said.get("Error") or done.stderr)
