from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, load, parse, source

JOBS = b"""\
format = 1
[table.jobs.columns]
id = { role = "id", type = "bigint" }
"""


def refusal(content: bytes) -> tuple[str, int, int, str]:
    with pytest.raises(DescriptionInvalid) as caught:
        parse(content, Path("tables.toml"))
    [found] = caught.value.diagnostics
    assert found.file == "tables.toml"
    return found.code, found.line, found.column, found.what


def test_a_missing_file_is_one_finding(tmp_path: Path) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        load(tmp_path / "tables.toml")
    [found] = caught.value.diagnostics
    assert found.code == "FILE-MISSING"
    assert found.file == str(tmp_path / "tables.toml")
    assert found.what == "there is no such file"
    assert found.hint == "Write one with `sqlclaimgen init`."


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        load(tmp_path)
    [found] = caught.value.diagnostics
    assert found.code == "FILE-UNREADABLE"
    assert found.what == "the file cannot be read: is a directory"


def test_gi_09_a_byte_order_mark_and_crlf_are_accepted_and_positions_stay() -> None:
    plain = parse(JOBS, Path("tables.toml"))
    windows = b"\xef\xbb\xbf" + JOBS.replace(b"\n", b"\r\n")
    assert parse(windows, Path("tables.toml")) == plain
    assert refusal(windows.replace(b"bigint", b"bigit"))[:3] == ("TYPE-UNKNOWN", 3, 21)
    assert refusal(b"\xef\xbb\xbf" + b"formt = 1\r\n" + JOBS)[:3] == ("UNKNOWN-KEY", 1, 1)


def test_other_encodings_are_named() -> None:
    assert refusal(JOBS.decode().encode("utf-16")) == (
        "FILE-ENCODING",
        1,
        1,
        "the file is UTF-16, not UTF-8",
    )
    assert refusal(JOBS + "# größe".encode("latin-1")) == (
        "FILE-ENCODING",
        4,
        5,
        "the byte 0xf6 is not UTF-8",
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("a", 1, 2, "a key has no `=` behind it"),
        ("a = x", 1, 5, "this is no value"),
        ("a = 60s", 1, 7, "something follows a value on its line"),
        ("[a", 1, 3, "a header is not closed"),
        ("a = [1,\n2\nb = 3", 3, 1, "an array is not closed"),
        ("a = { b = 1\n}", 1, 12, "an inline table is not closed on its line"),
        ('a = "x', 1, 7, "a text has no closing quote"),
        ("a = '''x", 1, 9, "a text has no closing quote"),
        ('a = "\\q"', 1, 8, "a backslash stands alone"),
        ("= 1", 1, 1, "a line starts with no key and no header"),
        ("a = " + "[" * 2000, 1, 1, "the file nests arrays or tables too deeply to be read"),
    ],
)
def test_toml_mistakes_are_worded(text: str, line: int, column: int, what: str) -> None:
    assert refusal(text.encode()) == ("TOML-SYNTAX", line, column, what)


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("a = 1\na = 2", 2, 1, "`a` is already there, on line 1"),
        ("a = 1\na = [\n1,\n2]", 2, 1, "`a` is already there, on line 1"),
        ("a = 1\na = { b = 1 }", 2, 1, "`a` is already there, on line 1"),
        ("[a]\nb = 1\n[a]", 3, 2, "`a` is already there, on line 1"),
        ("[a]\nb = { c = 1, c = 2 }", 2, 14, "`a.b.c` is already there, on line 2"),
        ("[t.x]\n'a' = 1\n\"a\" = 2", 3, 1, "`t.x.a` is already there, on line 2"),
        ("[a.b]\nc = 1\n[a]\nb.d = 2", 4, 8, "this key or table is already there"),
    ],
)
def test_gi_09_a_duplicate_key_is_found_where_it_stands(
    text: str, line: int, column: int, what: str
) -> None:
    assert refusal(text.encode()) == ("TOML-DUPLICATE", line, column, what)


def test_no_mistake_of_toml_shows_an_unworded_message() -> None:
    for cut in range(len(JOBS)):
        try:
            parse(JOBS[:cut], Path("tables.toml"))
        except DescriptionInvalid as error:
            assert not any("this is no TOML" in each.what for each in error.diagnostics)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_a_bad_byte_is_placed_behind_a_byte_order_mark(mark: bytes) -> None:
    with pytest.raises(DescriptionInvalid) as raised:
        source.parse(mark + b"format = 1\nabc=\xff", Path("tables.toml"))
    (found,) = raised.value.diagnostics
    assert (found.line, found.column, found.what) == (2, 5, "the byte 0xff is not UTF-8")


@pytest.mark.parametrize(
    "name", ["x\nimport os\n# .toml", "x-->y.toml", "bad\udcff.toml", "a\u202eb"]
)
def test_a_name_that_no_generated_file_can_show(name: str) -> None:
    with pytest.raises(DescriptionInvalid) as raised:
        source.read(Path(name))
    (found,) = raised.value.diagnostics
    assert found.code == "FILE-NAME" and found.file.isascii() and found.file.isprintable()


def test_a_file_without_an_end_is_not_read_whole(tmp_path: Path) -> None:
    with open(tmp_path / "long.toml", "wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(DescriptionInvalid) as raised:
        source.read(tmp_path / "long.toml")
    assert raised.value.diagnostics[0].what == "the file is longer than 16 MiB"
