from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from preview.problems import PreviewError
from preview.render import Rendering, render, render_elsewhere, render_twice

Sample = Callable[..., Path]


def lines_of(root: Path) -> tuple[str, ...]:
    with pytest.raises(PreviewError) as caught:
        render("dev", root)
    return caught.value.lines


def test_a_program_is_run_in_both_modes_with_the_settings_of_its_stack(sample: Sample) -> None:
    rendering = render("dev", sample("good", {"token": {"secure": "v1:abc"}, "cpu": "96"}))
    assert rendering.stack == "dev"
    [plan, apply] = [recording.one(":NodePool").inputs for recording in (rendering.plan, rendering.apply)]
    assert plan == apply
    assert plan["spec"]["limits"]["cpu"] == "96"
    assert rendering.apply.one(":Secret").inputs["stringData"] == {
        "<secret>": {"token": "placeholder-of-the-secret-test:token"}
    }


def test_a_second_process_finds_what_changes_from_run_to_run(sample: Sample) -> None:
    root = sample("unstable")
    rendering = render_elsewhere("dev", root)
    queue = "urn:pulumi:dev::test::aws:sqs/queue:Queue::queue"
    assert rendering.unstable == (f"plan {queue}", "plan outputs", f"apply {queue}", "apply outputs")


def test_a_stable_program_renders_alike_in_a_second_process(sample: Sample) -> None:
    root = sample("good", {"token": {"secure": "v1:abc"}})
    assert render_elsewhere("dev", root).unstable == ()


def test_a_second_run_finds_what_is_drawn_anew(sample: Sample) -> None:
    root = sample("good", {"token": {"secure": "v1:abc"}})
    assert render_twice("dev", root, lambda applied: None)[0].unstable == ()
    program = root / "__main__.py"
    program.write_text(program.read_text() + "import uuid\npulumi.export('mark', str(uuid.uuid4()))\n")
    assert render_twice("dev", root, lambda applied: None)[0].unstable == ("apply outputs",)


def test_a_run_error_is_told_line_by_line(sample: Sample) -> None:
    assert lines_of(sample("run_error")) == (
        "stacks/Pulumi.dev.yaml has 2 problem(s):",
        "  test:a: is wrong",
        "  test:b: is wrong, too",
    )


def test_arguments_that_a_component_refuses_are_told_by_their_path(sample: Sample) -> None:
    assert lines_of(sample("refused_arguments")) == ("size: is too small",)
    assert lines_of(sample("refused_arguments", {"several": "yes"})) == (
        "Strict has 2 problem(s):",
        "  size: is too small",
        "  color: is unknown",
    )


def test_a_fault_of_the_program_names_its_line(sample: Sample) -> None:
    assert lines_of(sample("fault")) == (
        "__main__.py:5: fails with ZeroDivisionError: division by zero; run with --traceback to see the calls",
    )


def test_a_resource_registered_twice_is_told_with_its_name(sample: Sample) -> None:
    assert lines_of(sample("duplicates")) == (
        "urn:pulumi:dev::test::aws:sqs/queue:Queue::queue: is registered twice; give one of them another name; "
        "the engine refuses the second",
    )


def test_an_output_in_a_text_that_the_sdk_refuses_names_the_line(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "true")
    assert lines_of(sample("output_in_text")) == (
        "__main__.py:8: puts an Output into a text; use Output.format, Output.concat or apply",
    )


def test_a_missing_output_is_named_by_running_once_more(rendered: Callable[..., Rendering]) -> None:
    urn = "urn:pulumi:dev::test::kubernetes:core/v1:ConfigMap::facts"
    assert rendered("nulls").missing_outputs == {(urn, "data.created"): "aws:iam/role:Role.createDate"}
