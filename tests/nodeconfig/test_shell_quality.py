"""Every script passes bash -n and shellcheck, every unit systemd-analyze verify."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeconfig import BootSettings, PlainSettings, files_written, plain_script, user_data


def test_boot_script_and_its_programs_are_clean(
    case: str, render: Callable[..., str], boot_script: Callable[[str], str], shellcheck: Callable[[str], None]
) -> None:
    text = render(case)
    script = text if case == "plain" else boot_script(text)
    programs = [body for path, body in files_written(script).items() if "/sbin/" in path]
    assert len(programs) == (1 if case == "no-swap" else 2)
    for body in (script, *programs):
        assert body.startswith("#!/bin/bash\n")
        shellcheck(body)


@pytest.mark.parametrize("io_latency", ["10ms", None])
def test_programs_are_clean_whatever_is_left_out(io_latency: str | None, shellcheck: Callable[[str], None]) -> None:
    common = {"io_latency": io_latency}
    texts = [
        user_data(BootSettings(**common)),
        plain_script(PlainSettings(swap_ratio="0.5", **common)),
        plain_script(PlainSettings(swap_size="64Gi", kubelet_config_directory=None, slices=(), **common)),
    ]
    for text in texts:
        shellcheck(files_written(text)["/usr/local/sbin/floodplain-swap"])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd on this machine")
def test_systemd_accepts_the_units(case: str, render: Callable[..., str], tmp_path: Path) -> None:
    units = tmp_path / "etc/systemd/system"
    for path, body in files_written(render(case, str(tmp_path))).items():
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body)
        target.chmod(0o755 if "/sbin/" in path else 0o644)
    (units / "kubelet.service").write_text("[Service]\nExecStart=/bin/true\n")
    for name in sorted(path.name for path in units.glob("*.service")):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(units / name)],
            capture_output=True,
            text=True,
            env={"SYSTEMD_UNIT_PATH": f"{units}:"},
        )
        said = [line for line in done.stderr.splitlines() if str(units) in line or "floodplain" in line]
        assert (done.returncode, said) == (0, [])
