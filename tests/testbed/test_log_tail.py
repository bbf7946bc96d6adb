"""The end of a log, as errors show it."""

from __future__ import annotations

from testbed.log_tail import LINE_MOST, last_lines

PANIC = """\
starting
{"level":"panic","msg":"failed to create WAL","error":"no space left on device"}
panic: failed to create WAL

goroutine 1 [running]:
go.uber.org/zap/zapcore.CheckWriteAction.OnWrite(0x1?, 0x12ce564?)
\t/go/pkg/mod/go.uber.org/zap/entry.go:196 +0x54
main.main()
\t/go/pkg/mod/main.go:31 +0x28

goroutine 17 gp=0xc000007c0 m=3 mp=0xc00008 [select, 2 minutes]:
runtime.gopark()
\t/usr/lib/go/proc.go:435

exit status 2
"""


def test_a_panic_is_shown_without_the_functions_it_happened_in() -> None:
    assert last_lines(PANIC, 20) == (
        "    starting\n"
        '    {"level":"panic","msg":"failed to create WAL","error":"no space left on device"}\n'
        "    panic: failed to create WAL\n"
        "    exit status 2"
    )


def test_only_the_last_lines_are_shown_and_long_ones_are_cut() -> None:
    assert last_lines("a\nb\n" + "c" * 1000, 2) == "    b\n    " + "c" * LINE_MOST + "..."


def test_an_empty_log_says_so() -> None:
    assert last_lines("\n\n", 20) == last_lines("", 20) == "    (it wrote nothing)"
