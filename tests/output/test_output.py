"""Files on disk against those generated: every state a file can be in, and what a build does to it."""

from __future__ import annotations

import dataclasses
import errno
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from sqlclaimgen import files as disk
from sqlclaimgen import lockfile, output
from sqlclaimgen.description import Description, DescriptionInvalid, parse
from sqlclaimgen.output import State, Survey

ORIGIN = "-- From tables.toml: edit that and run `sqlclaimgen build`.\n"
TABLE = """
[table.jobs]
dialects = ["postgres"]
[table.jobs.columns]
id = { role = "id", type = "bigint" }
locked_until = {}
"""

A = PurePosixPath("sql/postgres/a.sql")
B = PurePosixPath("sql/postgres/b.sql")
PACKAGE = PurePosixPath("queues/__init__.py")


@pytest.fixture
def described(tmp_path: Path) -> Description:
    (tmp_path / "pyproject.toml").touch()
    return described_at(tmp_path)


def described_at(folder: Path, name: str = "tables.toml", output: str = "") -> Description:
    text = f"format = 1\n{output}\n{TABLE}"
    (folder / name).write_text(text)
    return parse(text.encode(), folder / name)


def build(described: Description, files: dict[PurePosixPath, str]) -> Survey:
    survey = output.survey(described, files)
    output.write(survey)
    return survey


def states(described: Description, files: dict[PurePosixPath, str]) -> dict[str, State]:
    survey = output.survey(described, files)
    return {str(one.path): one.state for one in survey.differences}


FILES = {A: ORIGIN + "a\n", B: ORIGIN + "b\n", PACKAGE: "# package\n"}


def test_a_build_writes_what_is_missing_and_is_then_current(described: Description) -> None:
    assert set(states(described, FILES).values()) == {State.MISSING}
    build(described, FILES)
    after = output.survey(described, FILES)
    assert after.is_current and after.current == 3
    folder = described.path.parent
    assert (folder / A).read_bytes() == FILES[A].encode()
    listed = lockfile.load(folder).entries["tables.toml"]
    assert set(listed.files) == set(FILES) and list(listed.tables) == ["jobs"]


def test_a_survey_writes_nothing(described: Description) -> None:
    before = sorted(described.path.parent.rglob("*"))
    assert not output.survey(described, FILES).is_current
    assert sorted(described.path.parent.rglob("*")) == before


def test_only_what_changes_is_written(described: Description) -> None:
    build(described, FILES)
    folder = described.path.parent
    os.utime(folder / A, ns=(1, 1))
    os.utime(folder / lockfile.NAME, ns=(1, 1))
    build(described, FILES)
    assert (folder / lockfile.NAME).stat().st_mtime_ns == 1
    changed = {**FILES, B: ORIGIN + "new\n"}
    assert states(described, changed) == {str(B): State.CHANGED}
    build(described, changed)
    assert (folder / A).stat().st_mtime_ns == 1
    assert (folder / B).read_text() == changed[B]


def test_a_hand_edited_file_is_told_apart(described: Description) -> None:
    build(described, FILES)
    (described.path.parent / A).write_text("mine\n")
    survey = output.survey(described, FILES)
    assert [one.state for one in survey.refused] == [State.EDITED]
    assert survey.differences[0].diff() == (
        f"--- a/{A}\n+++ b/{A}\n@@ -1 +1,2 @@\n-mine\n+{ORIGIN}+a\n"
    )


def test_an_edit_that_says_what_is_generated_now_is_none(described: Description) -> None:
    build(described, FILES)
    changed = {**FILES, A: ORIGIN + "new\n"}
    (described.path.parent / A).write_text(changed[A])
    survey = build(described, changed)
    assert not survey.differences and survey.lock is not None
    assert output.survey(described, changed).is_current


def test_a_file_in_the_way_is_refused(described: Description) -> None:
    (described.path.parent / A).parent.mkdir(parents=True)
    (described.path.parent / A).write_text("somebody's\n")
    survey = output.survey(described, FILES)
    assert [one.state for one in survey.refused] == [State.IN_THE_WAY]


def test_a_package_of_the_teams_own_is_left_alone(described: Description) -> None:
    target = described.path.parent / PACKAGE
    target.parent.mkdir()
    target.write_text("import logging\n")
    build(described, FILES)
    assert output.survey(described, FILES).is_current
    assert target.read_text() == "import logging\n"
    assert PACKAGE not in lockfile.load(described.path.parent).entries["tables.toml"].files


def test_stale_files_go_with_their_folders_when_they_are_untouched(described: Description) -> None:
    build(described, FILES)
    folder = described.path.parent
    rest = {PACKAGE: FILES[PACKAGE]}
    (folder / B).write_text("mine\n")
    assert states(described, rest) == {str(A): State.STALE, str(B): State.STALE_EDITED}
    build(described, rest)
    assert not (folder / A).exists() and (folder / B).read_text() == "mine\n"
    (folder / B).write_text(FILES[B])
    assert states(described, {**rest, A: "x"}) == {str(A): State.MISSING, str(B): State.UNLISTED}
    (folder / B).unlink()


def test_an_emptied_folder_goes(described: Description) -> None:
    build(described, FILES)
    build(described, {PACKAGE: FILES[PACKAGE]})
    assert not (described.path.parent / "sql").exists()


def test_a_generated_file_that_is_not_listed_is_reported_and_left(described: Description) -> None:
    build(described, FILES)
    other = described.path.parent / "sql/postgres/old.sql"
    other.write_text(ORIGIN + "old\n")
    (described.path.parent / "sql/postgres/own.sql").write_text("SELECT 1;\n")
    assert states(described, FILES) == {"sql/postgres/old.sql": State.UNLISTED}
    build(described, FILES)
    assert other.exists()


def test_line_ends_of_a_checkout_on_windows_are_no_difference(described: Description) -> None:
    build(described, FILES)
    folder = described.path.parent
    for path in (*FILES, PurePosixPath(lockfile.NAME)):
        (folder / path).write_bytes((folder / path).read_bytes().replace(b"\n", b"\r\n"))
    assert output.survey(described, FILES).is_current
    changed = {**FILES, A: ORIGIN + "new\n"}
    assert states(described, changed) == {str(A): State.CHANGED}
    build(described, changed)
    assert b"\r" not in (folder / A).read_bytes()


def test_what_consumers_must_agree_on_is_watched(described: Description) -> None:
    build(described, FILES)
    (described.path.parent / "tables.toml").unlink()
    text = described.path.parent / "tables.toml"
    text.write_text(f"format = 1\n{TABLE}attempt = {{ role = 'attempt' }}\n")
    changed = parse(text.read_bytes(), text)
    survey = build(changed, FILES)
    assert survey.drains == ("jobs: attempt was not set, is attempt",)
    assert output.survey(changed, FILES).drains == ()


def test_two_descriptions_in_a_folder_share_the_lock(described: Description) -> None:
    other = described_at(described.path.parent, "other.toml")
    build(described, {A: "a\n"})
    build(other, {B: "b\n"})
    assert output.survey(described, {A: "a\n"}).is_current
    assert output.survey(other, {B: "b\n"}).is_current
    survey = output.survey(other, {A: "other\n", B: "b\n"})
    assert [one.state for one in survey.refused] == [State.IN_THE_WAY]


def test_a_description_that_is_gone_leaves_its_files_to_the_next(described: Description) -> None:
    build(described, FILES)
    described.path.rename(described.path.with_name("new.toml"))
    new = described_at(described.path.parent, "new.toml")
    assert states(new, {A: FILES[A], PACKAGE: FILES[PACKAGE]}) == {str(B): State.STALE}


@pytest.mark.parametrize("folder", ["../../sql", "a/../../../sql"])
def test_output_stays_in_the_project(tmp_path: Path, folder: str) -> None:
    place = tmp_path / "project" / "db"
    place.mkdir(parents=True)
    described = described_at(place)
    (tmp_path / "project" / "pyproject.toml").touch()
    with pytest.raises(DescriptionInvalid) as raised:
        output.survey(described, {PurePosixPath(folder) / "a.sql": "x"})
    assert raised.value.diagnostics[0].code == "OUTPUT-OUTSIDE"


def test_output_may_go_beside_the_descriptions_folder(tmp_path: Path) -> None:
    place = tmp_path / "project" / "db"
    place.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    described = described_at(place)
    files = {PurePosixPath("../src/queues/jobs.py"): ORIGIN}
    build(described, files)
    assert (tmp_path / "project/src/queues/jobs.py").read_text() == ORIGIN
    assert output.survey(described, files).is_current
    build(described, {A: "a\n"})
    assert not (tmp_path / "project/src").exists()


def test_a_lock_removes_nothing_outside_the_project(described: Description, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.sql"
    outside.write_text("precious\n")
    build(described, FILES)
    lock = described.path.parent / lockfile.NAME
    line = f'"../{outside.name}" = "{lockfile.digest(outside.read_bytes())}"\n'
    lock.write_text(lock.read_text() + line)
    build(described, FILES)
    assert outside.exists()
    outside.unlink()


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes")
def test_a_link_and_a_mode_stay(described: Description) -> None:
    build(described, FILES)
    folder = described.path.parent
    (folder / "elsewhere.sql").write_text(FILES[A])
    (folder / A).unlink()
    (folder / A).symlink_to(folder / "elsewhere.sql")
    (folder / B).chmod(0o640)
    build(described, {**FILES, A: ORIGIN + "new\n", B: ORIGIN + "new\n"})
    assert (folder / A).is_symlink() and (folder / "elsewhere.sql").read_text().endswith("new\n")
    assert (folder / B).stat().st_mode & 0o777 == 0o640


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, with the content of files."""
    return {
        str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None
        for one in folder.rglob("*")
    }


NEW = {A: ORIGIN + "new\n", PurePosixPath("sql/sqlite/b.sql"): ORIGIN + "new\n", PACKAGE: "# p\n"}


@pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
def test_a_full_disk_changes_nothing(
    described: Description, built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if built:
        build(described, FILES)
    folder = described.path.parent
    before = snapshot(folder)
    write = disk._write

    def full(place: Path, target: Path, text: str) -> None:
        write(place, target, text)
        if target.name == "b.sql":
            raise OSError(errno.ENOSPC, "No space left on device", str(target))

    with monkeypatch.context() as patch, pytest.raises(OSError, match=r"b\.sql"):
        patch.setattr(disk, "_write", full)
        build(described, NEW)
    assert snapshot(folder) == before


def interrupted(described: Description, files: dict[PurePosixPath, str], after: int) -> bool:
    """Build, and die without any clean-up before the replacement or removal number `after`."""
    survey = output.survey(described, files)
    child = os.fork()
    if not child:
        steps = iter(range(1_000))
        replace, unlink, write = Path.replace, Path.unlink, disk._write

        def step() -> None:
            if next(steps) == after:
                os._exit(9)

        def dying_replace(self: Path, target: Path) -> Path:
            step()
            return replace(self, target)

        def dying_unlink(self: Path, missing_ok: bool = False) -> None:
            step()
            unlink(self, missing_ok)

        def dying_write(place: Path, target: Path, text: str) -> None:
            write(place, target, text)
            step()

        Path.replace = dying_replace  # type: ignore[method-assign,assignment]
        Path.unlink = dying_unlink  # type: ignore[method-assign]
        disk._write = dying_write
        try:
            output.write(survey)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
def test_a_build_killed_at_any_step_is_mended_by_the_next(tmp_path: Path, built: bool) -> None:
    third = {B: ORIGIN + "third\n", PACKAGE: FILES[PACKAGE]}
    for after in range(1_000):
        folder = tmp_path / str(after)
        folder.mkdir()
        (folder / "pyproject.toml").touch()
        described = described_at(folder)
        if built:
            build(described, FILES)
        died = interrupted(described, {**NEW, PACKAGE: FILES[PACKAGE]}, after)
        # a second build dies as well, of a changed description
        interrupted(described, third, after // 2)
        survey = output.survey(described, third)
        assert not survey.refused and not {one.state for one in survey.differences} & output.LEFT
        output.write(survey)
        assert output.survey(described, third).is_current
        assert sorted(
            path for path, content in snapshot(folder).items() if content is not None
        ) == [
            "pyproject.toml",
            str(PACKAGE),
            str(B),
            "sqlclaimgen.lock",
            "tables.toml",
        ]
        if not died:
            assert after > 8
            break


@pytest.mark.parametrize(
    "path", ["src/important.py", ".git/config", "pyproject.toml", "tables.toml"]
)
def test_a_lock_removes_and_overwrites_only_what_has_the_header(
    described: Description, path: str
) -> None:
    build(described, FILES)
    folder = described.path.parent
    target = folder / path
    target.parent.mkdir(exist_ok=True)
    if not target.exists():
        target.write_text("precious\n")
    content = target.read_bytes()
    lock = folder / lockfile.NAME
    text = lock.read_text()
    line = f'"{path}" = "{lockfile.digest(content)}"\n'
    lock.write_text(text + line)
    build(described, FILES)
    assert target.read_bytes() == content
    lock.write_text(text + line)
    survey = output.survey(described, {**FILES, PurePosixPath("src/important.py"): "x"})
    assert [one.state for one in survey.refused] == (
        [State.EDITED] if path == "src/important.py" else []
    )


def refusals(described: Description, files: dict[PurePosixPath, str]) -> list[tuple[str, str]]:
    """Codes and words of what keeps a build from its first write."""
    before = snapshot(described.path.parent)
    with pytest.raises(DescriptionInvalid) as raised:
        build(described, files)
    assert snapshot(described.path.parent) == before
    return [(one.code, one.what) for one in raised.value.diagnostics]


def test_a_folder_in_the_place_of_a_file_is_refused(described: Description) -> None:
    (described.path.parent / A).mkdir(parents=True)
    assert refusals(described, FILES) == [
        ("FILE-BLOCKED", "a generated file belongs here: a folder is there")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes")
def test_a_pipe_in_the_place_of_a_file_is_refused(described: Description) -> None:
    (described.path.parent / A).parent.mkdir(parents=True)
    os.mkfifo(described.path.parent / A)
    os.mkfifo(described.path.parent / "sql/postgres/beside.sql")
    assert refusals(described, FILES) == [
        ("FILE-BLOCKED", "a generated file belongs here: what is there is no regular file")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_links_in_a_circle_are_refused(described: Description) -> None:
    (described.path.parent / A).parent.mkdir(parents=True)
    (described.path.parent / A).symlink_to("a.sql")
    ((code, what),) = refusals(described, FILES)
    assert code == "FILE-BLOCKED" and "symbolic links" in what


@pytest.mark.parametrize("there", ["file", "link"])
def test_a_file_in_the_place_of_a_folder_is_refused(described: Description, there: str) -> None:
    place = described.path.parent / "sql"
    if there == "file":
        place.write_text("x")
    else:
        place.symlink_to("nowhere/at/all")
    ((code, what),) = refusals(described, FILES)
    assert code == "OUTPUT" and what.startswith("`output.sql` needs the folder sql/postgres, and ")


@pytest.mark.parametrize(
    ("key", "place"),
    [("sql", lockfile.NAME), ("docs", "queues/__init__.py"), ("sql", "tables.toml/x")],
)
def test_a_folder_may_not_be_a_file_of_the_build(tmp_path: Path, key: str, place: str) -> None:
    described = described_at(tmp_path, output=f'[output]\n{key} = "{place}"')
    with pytest.raises(DescriptionInvalid) as raised:
        build(described, {PurePosixPath(place) / "a.sql": ORIGIN, PACKAGE: FILES[PACKAGE]})
    (found,) = raised.value.diagnostics
    assert (found.code, found.line, found.column) == ("OUTPUT", 3, 1)
    assert "is a file of this build" in found.what
    assert sorted(one.name for one in tmp_path.iterdir()) == ["tables.toml"]


def test_a_description_is_never_overwritten(tmp_path: Path) -> None:
    described = described_at(tmp_path, "jobs.md")
    assert refusals(described, {PurePosixPath("jobs.md"): ORIGIN}) == [
        ("OUTPUT", "`output.sql` puts the generated jobs.md in the place of jobs.md")
    ]
    (code, _), *_ = refusals(described_at(tmp_path, lockfile.NAME), FILES)
    assert code == "FILE-NAME"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs modes that bind")
def test_what_may_not_be_read_or_written(described: Description) -> None:
    build(described, FILES)
    folder = described.path.parent
    (folder / "sql/postgres/private.sql").write_text("x")
    (folder / "sql/postgres/private.sql").chmod(0)
    assert output.survey(described, FILES).is_current
    (folder / "sql/postgres/private.sql").unlink()
    (folder / "sql/postgres").chmod(0o500)
    assert output.survey(described, FILES).is_current
    ((code, what),) = refusals(described, NEW)
    assert code == "FILE-UNWRITABLE" and what.endswith("sql/postgres")
    (folder / "sql/postgres").chmod(0o700)
    (folder / A).chmod(0)
    with pytest.raises(DescriptionInvalid) as raised:
        output.survey(described, FILES)
    assert [one.code for one in raised.value.diagnostics] == ["FILE-BLOCKED"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs /dev")
@pytest.mark.parametrize("folder", ["/dev", "/dev/fd", "/proc/self/fd"])
def test_a_description_from_a_device_has_no_folder(described: Description, folder: str) -> None:
    piped = dataclasses.replace(described, path=Path(folder) / "0")
    with pytest.raises(DescriptionInvalid) as raised:
        output.survey(piped, FILES)
    (found,) = raised.value.diagnostics
    assert "--stdout" in found.hint


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of folders")
def test_builds_of_one_folder_wait_for_each_other(described: Description) -> None:
    folder = described.path.parent
    other = (
        "import pathlib, sys; from sqlclaimgen import files\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "with files.alone(folder, lambda: print('waits', flush=True)):\n"
        "    print((folder / 'done').exists(), flush=True)\n"
    )
    with disk.alone(folder, lambda: pytest.fail("nobody else builds")):
        child = subprocess.Popen(
            [sys.executable, "-c", other, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "waits\n"
        (folder / "done").touch()
    assert child.communicate(timeout=30)[0] == "True\n"
