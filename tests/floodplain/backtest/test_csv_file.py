"""Files of past jobs as spreadsheets, databases and people write them; every bad line told, the others used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.backtest.csv_file import CsvError, CsvJobs, read
from floodplain.backtest.past_job import Outcome, PastJob
from floodplain.quantity import GIB, MIB
from floodplain.sizing.workload import Workload

WHOLE = """\
id,engine,images,options,megapixels,request_bytes,limit_bytes,peak_bytes,swap_bytes,outcome,node_memory_bytes,seconds
a,odm,500,"dsm,pc-quality=high",20,16777216Ki,17Gi,18.5Gi,32Gi,succeeded,62Gi,1h30m
b,,1233,,,,,,,OOMKilled,,
"""
A = PastJob(
    "a",
    Workload(images=500, options="dsm,pc-quality=high", megapixels=20),
    Outcome.SUCCEEDED,
    request_bytes=16 * GIB,
    limit_bytes=17 * GIB,
    peak_bytes=37 * GIB // 2,
    swap_bytes=32 * GIB,
    node_memory_bytes=62 * GIB,
    seconds=5400.0,
)
B = PastJob("b", Workload(images=1233), Outcome.OOM)


def test_every_column_is_read() -> None:
    assert read(WHOLE.encode()) == CsvJobs((A, B), (), 0, ())


SMALL = "id,images,outcome,limit\nx,10,ok,1Gi\n"
X = PastJob("x", Workload(images=10), Outcome.SUCCEEDED, limit_bytes=GIB)
ALIKE = {
    "with a byte order mark": SMALL.encode("utf-8-sig"),
    "UTF-16 of a spreadsheet": SMALL.encode("utf-16"),
    "semicolons": SMALL.replace(",", ";").encode(),
    "tabs": SMALL.replace(",", "\t").encode(),
    "line ends of Windows": SMALL.replace("\n", "\r\n").encode(),
    "line ends of old": SMALL.replace("\n", "\r").encode(),
    "no line end at the end": SMALL.strip().encode(),
    "empty lines": b"\n\n" + SMALL.replace("\n", "\n\n,,,\n").encode(),
    "other names": b"Job,Image-Count,STATUS,Memory Limit\nx,10,Succeeded,1073741824\n",
    "other order": b"limit,outcome,images,id\n1Gi,success,10,x\n",
    "spaces": b"id , images , outcome , limit\n x , 10 , ok , 1Gi \n",
    "quotes": b'"id","images","outcome","limit"\n"x","10","ok","1Gi"\n',
    "a second column of a name": b"id,images,outcome,limit,memory_limit\nx,10,ok,1Gi,2Gi\n",
}


@pytest.mark.parametrize("content", ALIKE.values(), ids=ALIKE)
def test_files_that_mean_the_same_read_the_same(content: bytes) -> None:
    assert read(content).jobs == (X,)


def test_rows_of_scaleodms_table_are_read_with_a_count_of_images() -> None:
    table = """\
id,workflow_name,odm_flags,job_status,images
7,odm-pipeline-x2b,"[""--dsm"", ""--pc-quality"", ""high"", ""--split=400""]",completed,500
8,odm-pipeline-k9q,[],failed,40
"""
    given = {"images": 500, "options": "dsm,pc-quality=high,split=400"}
    wanted = (
        PastJob("7", Workload.model_validate(given), Outcome.SUCCEEDED),
        PastJob("8", Workload(images=40), Outcome.FAILED),
    )
    assert read(table.encode()) == CsvJobs(wanted, (), 0, ("workflow_name",))


@pytest.mark.parametrize("cell", ["[dsm", '"[1]"', "[" * 5000, '"[{""name"": ""dsm""}]"', '"[""rm""]"'])
def test_options_that_are_no_list_of_flags_are_told(cell: str) -> None:
    found = read(f"images,options,outcome\n5,{cell},ok\n".encode())
    assert (found.jobs, found.bad_lines) == ((), 1)
    assert {problem.path for problem in found.problems} == {"line 2, options"}


def test_columns_that_say_nothing_are_named() -> None:
    assert read(b"images,outcome,color,\x1b[31m\n10,ok,red,x\n").ignored == ("color", "?[31m")


HEAD = "id,images,options,request,limit,outcome,seconds,megapixels\n"
BAD = {
    "j,0,,,,ok,,": ["line 2, images: 0 is not from 1 to 1000000; write how many images the job reads"],
    "j,many,,,,ok,,": ["line 2, images: 'many' is not a count of images; write a whole number from 1 to 1000000"],
    "j,10,dsn,,,ok,,": ["line 2, options: 'dsn' is no option of ODM; did you mean `dsm`?"],
    "j,10,,1GB,,ok,,": ["line 2, request_bytes: '1GB' is not a quantity; write 1G (decimal) or 1Gi (binary)"],
    "j,10,,-1,,ok,,": ["line 2, request_bytes: '-1' is negative; write zero or more"],
    "j,10,,,1e99,ok,,": [
        "line 2, limit_bytes: '1e99' is above 2^63 - 1, the largest quantity of Kubernetes; write less"
    ],
    "j,10,,2Gi,1Gi,ok,,": ["line 2, request_bytes: 2147483648 is above the limit; are the two swapped?"],
    "j,10,,,,evictd,,": ["line 2, outcome: 'evictd' is no outcome; did you mean `evicted`?"],
    "j,10,,,,,,": ["line 2, outcome: '' is no outcome; write succeeded, oom, evicted, failed"],
    "j,10,,,,ok,soon,": [
        "line 2, seconds: 'soon' is no number of seconds from 0 to ten years; write seconds as digits, or a duration"
        " such as 1h30m"
    ],
    "j,10,,,,ok,1d,": ["line 2, seconds: '1d' is not a duration; write 24h"],
    "j,10,,,,ok,-5,": [
        "line 2, seconds: '-5' is no number of seconds from 0 to ten years; write seconds as digits, or a duration such"
        " as 1h30m"
    ],
    "j,10,,,,ok,,0": ["line 2, megapixels: '0' should be greater than 0"],
    "j": ["line 2: has 1 cells, fewer than the first line; fill it, or take it out"],
    "j,0,,1GB,,x,,": [
        "line 2, request_bytes: '1GB' is not a quantity; write 1G (decimal) or 1Gi (binary)",
        "line 2, outcome: 'x' is no outcome; write succeeded, oom, evicted, failed",
        "line 2, images: 0 is not from 1 to 1000000; write how many images the job reads",
    ],
}


@pytest.mark.parametrize(("line", "told"), BAD.items(), ids=BAD)
def test_a_bad_line_is_told_with_number_value_rule_and_remedy_and_the_next_is_used(line: str, told: list[str]) -> None:
    found = read(f"{HEAD}{line}\nx,10,,,1Gi,ok,,\n".encode())
    assert ([str(problem) for problem in found.problems], found.bad_lines, found.jobs) == (told, 1, (X,))


def test_lines_are_counted_as_an_editor_does() -> None:
    found = read(b'id,images,outcome\n"two\nlines",10,ok\n\nz,0,ok\n')
    assert [problem.path for problem in found.problems] == ["line 5, images"]
    assert [one.name for one in found.jobs] == ["two?lines"]


def test_a_job_without_a_name_is_called_by_its_line() -> None:
    assert [one.name for one in read(b"images,outcome\n10,ok\n").jobs] == ["line 2"]


def test_a_quote_that_is_not_closed_loses_only_what_follows() -> None:
    found = read(b'id,images,outcome\nx,10,ok\n"y,10,ok\nz,10,ok\n')
    assert [one.name for one in found.jobs] == ["x"]
    assert [str(problem) for problem in found.problems] == [
        "line 3: and what follows cannot be read (unexpected end of data); is there a quote that is not closed? Mend it"
    ]


REFUSED = {
    "nothing": (b"", "the first line names no column images and no outcome; write a first line such as"),
    "no header": (b"a,10,ok\n", "the first line names no column images and no outcome"),
    "no outcome": (b"id,images\na,1\n", "the first line names no column outcome; write"),
    "Latin-1": ("id,images,outcome\nM\u00fcller,1,ok\n".encode("latin-1"), "is not UTF-8 (byte 19); save it as CSV"),
    "UTF-16 without a mark": ("images,outcome\n".encode("utf-16-le"), "has zero bytes: it is no text, or UTF-16"),
    "half of UTF-16": (b"\xff\xfea", "is not UTF-8 (byte 2)"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not UTF-8 (byte 0)"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_without_jobs_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(CsvError) as caught:
        read(content)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "name", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2", "[red]x[/red]", "a\u202eb", "\x1b[2J"]
)
def test_a_name_is_a_text_and_nothing_else(name: str) -> None:
    found = read(f'id,images,outcome\n"{name}",10,ok\n'.encode())
    assert [one.name for one in found.jobs] == ["".join(letter if letter.isprintable() else "?" for letter in name)]


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_bytes_make_it_stumble(content: bytes) -> None:
    for start in (b"", b"id,images,outcome\n", b"images;outcome;request;seconds\n"):
        try:
            found = read(start + content)
        except CsvError as error:
            assert str(error)
        else:
            assert found.bad_lines <= len(found.problems)


CELLS = st.sampled_from(["1", "10", "0", "x", "", "500"])
OUTCOMES = st.sampled_from(["ok", "oom", "evicted", "failed", "?"])


@given(st.lists(st.tuples(CELLS, OUTCOMES, st.sampled_from(["1Gi", "", "1GB"])), max_size=20))
def test_every_line_is_a_job_or_told(rows: list[tuple[str, str, str]]) -> None:
    found = read("\n".join(["images,outcome,limit", *(",".join(row) for row in rows)]).encode())
    kept = [(job.workload.images, job.outcome) for job in found.jobs]
    words = {"ok": Outcome.SUCCEEDED, "oom": Outcome.OOM, "evicted": Outcome.EVICTED, "failed": Outcome.FAILED}
    good = [
        (int(images), words[outcome])
        for images, outcome, limit in rows
        if images in ("1", "10", "500") and outcome in words and limit != "1GB"
    ]
    assert (kept, len(kept) + found.bad_lines) == (good, len(rows))
    assert all(job.limit_bytes in (None, 1024 * MIB) for job in found.jobs)
