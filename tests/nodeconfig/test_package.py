"""The package works under the name it has in the wheel, and carries its templates."""

import shutil
import subprocess
import sys
from pathlib import Path

import nodeconfig
from nodeconfig import BootSettings, user_data

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
sys.path.append(sys.argv[2])
import floodplain_nodeconfig as renamed
sys.stdout.write(renamed.user_data(renamed.BootSettings()))
assert "nodeconfig" not in sys.modules and "pulumi" not in sys.modules
"""


def test_text_is_the_same_under_the_wheels_name(tmp_path: Path) -> None:
    source = Path(nodeconfig.__file__).parent
    shutil.copytree(source, tmp_path / "floodplain_nodeconfig", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(source.parent)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (user_data(BootSettings()), "")
