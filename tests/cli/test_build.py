"""`build`: what it writes, says and returns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import UUID

import pytest

from sqlclaimgen.cli.console import ErrorFormat

from .conftest import TABLES, Run


def test_a_build_says_what_it_wrote(project: Path, run: Run) -> None:
    done = run("build")
    assert (done.code, done.err) == (0, "")
    assert "wrote sql/postgres/jobs.ddl.sql\n" in done.out
    assert "wrote queues/payouts.py\n" in done.out
    for line in done.out.splitlines():
        assert (project / line.removeprefix("wrote ")).is_file()
    again = run("build")
    assert (again.code, again.out, again.err) == (0, "11 files are current\n", "")


def test_a_check_writes_nothing_and_shows_what_is_missing(project: Path, run: Run) -> None:
    done = run("build", "--check")
    assert done.code == 1
    assert done.out == ""
    assert re.search(r"^missing: sql/postgres/jobs.sql, \d+ lines$", done.err, re.M)
    assert "missing: sqlclaimgen.lock, " in done.err
    assert done.err.endswith(
        "12 files differ\n    hint: Run `sqlclaimgen build` and commit what it writes.\n"
    )
    assert sorted(one.name for one in project.iterdir()) == ["pyproject.toml", "tables.toml"]


def test_a_check_works_from_another_folder(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("build")
    monkeypatch.chdir(project.parent)
    for path in (project, project / "tables.toml", Path(project.name)):
        done = run("build", "--check", path)
        assert (done.code, done.out, done.err) == (0, "11 files are current\n", "")


def test_a_check_tells_a_hand_edit_from_an_old_file(project: Path, run: Run) -> None:
    run("build")
    edited = project / "sql/postgres/jobs.sql"
    edited.write_text(edited.read_text().replace("LIMIT :limit", "LIMIT 1"))
    (project / "tables.toml").write_text(TABLES.replace("60s", "90s"))
    done = run("build", "--check")
    assert done.code == 1
    assert "edited by hand: sql/postgres/jobs.sql\n" in done.err
    assert "out of date: queues/jobs.py\n" in done.err
    assert "-    LIMIT 1\n+    LIMIT :limit\n" in done.out
    edited_first = done.err.partition(" files differ\n")[2].splitlines()
    assert ["--force" in line for line in edited_first] == [True, False]


def test_a_check_counts_one_file_as_one(project: Path, run: Run) -> None:
    run("build")
    (project / "queues/jobs.py").write_text("mine\n")
    done = run("build", "--check")
    assert (done.code, done.err.splitlines()[:2]) == (
        1,
        ["edited by hand: queues/jobs.py", "1 file differs"],
    )
    assert "sqlclaimgen build` and commit" not in done.err


def test_a_rename_is_shown_without_the_files(project: Path, run: Run) -> None:
    run("build")
    (project / "tables.toml").write_text(TABLES.replace("table.payouts", "table.payments"))
    done = run("build", "--check")
    assert "no longer generated: queues/payouts.py, " in done.err
    assert "missing: queues/payments.py, " in done.err
    assert {line for line in done.out.splitlines() if line.startswith("+++ ")} == {
        "+++ b/sqlclaimgen.lock"
    }


def test_a_build_that_writes_the_lock_alone_says_so(project: Path, run: Run) -> None:
    run("build")
    (project / "sqlclaimgen.lock").unlink()
    done = run("build")
    assert (done.code, done.out) == (0, "wrote sqlclaimgen.lock\n")


def test_files_of_the_teams_own_are_not_mentioned(project: Path, run: Run) -> None:
    run("build")
    (project / "queues/own.py").write_text("x = 1\n")
    done = run("build", "--check")
    assert (done.code, done.out, done.err) == (0, "11 files are current\n", "")


def test_a_hand_edit_is_not_overwritten_unless_forced(project: Path, run: Run) -> None:
    run("build")
    edited = project / "queues/jobs.py"
    edited.write_text(edited.read_text() + "# mine\n")
    (project / "tables.toml").write_text(TABLES.replace("60s", "90s"))
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    done = run("build")
    assert done.code == 2
    assert done.err == (
        "queues/jobs.py:1:1: error[FILE-EDITED]: this generated file was edited by hand\n"
        "    hint: Move the change into the description; `build --check` shows it, "
        "`build --force` drops it.\n"
        "nothing was written\n"
    )
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert run("build", "--force").code == 0
    assert "# mine" not in edited.read_text()


def test_a_file_in_the_way_is_not_overwritten_unless_forced(project: Path, run: Run) -> None:
    (project / "queues").mkdir()
    (project / "queues/jobs.py").write_text("mine\n")
    done = run("build", "--error-format", "json")
    assert done.code == 2
    (found,) = json.loads(done.err)
    assert (found["code"], found["file"]) == ("FILE-IN-THE-WAY", "queues/jobs.py")
    assert sorted(one.name for one in (project / "queues").iterdir()) == ["jobs.py"]
    assert run("build", "--force").code == 0


def test_stale_files_are_removed(project: Path, run: Run) -> None:
    run("build")
    (project / "tables.toml").write_text(TABLES.replace('"postgres", "sqlite"', '"postgres"'))
    assert "no longer generated: sql/sqlite/jobs.sql, " in run("build", "--check").err
    done = run("build")
    assert "removed sql/sqlite/jobs.sql\n" in done.out and not (project / "sql/sqlite").exists()
    assert run("build", "--check").code == 0


def test_an_edited_stale_file_is_left_and_named(project: Path, run: Run) -> None:
    run("build")
    (project / "sql/sqlite/jobs.sql").write_text("mine\n")
    (project / "tables.toml").write_text(TABLES.replace('"postgres", "sqlite"', '"postgres"'))
    done = run("build")
    assert done.code == 0
    assert done.err == (
        "sql/sqlite/jobs.sql:1:1: warning[FILE-STALE]: this file is no longer generated, "
        "and was edited by hand\n"
        "    hint: Delete it, or keep it as your own, without its first line.\n"
    )


def test_consumers_must_be_drained_when_the_form_changes(project: Path, run: Run) -> None:
    run("build")
    other = TABLES.replace("amount = ", 'locked_until = { role = "locked_until" }\namount = ')
    (project / "tables.toml").write_text(other)
    for arguments in (("build", "--check"), ("build",)):
        done = run(*arguments)
        assert (
            "tables.toml:1:1: warning[DRAIN]: payouts: form was row_lock, is lease; "
            "token was not set, is locked_until timestamp(6)\n"
            "    hint: Drain the running consumers of the table before the new ones start.\n"
        ) in done.err
    assert run("build").err == ""


def test_mistakes_are_reported_and_nothing_is_written(project: Path, run: Run) -> None:
    (project / "tables.toml").write_text(TABLES.replace("lease =", "leese ="))
    text = run("build")
    assert text.code == 2 and text.out == ""
    assert text.err.startswith("tables.toml:5:1: error[UNKNOWN-KEY]: ")
    assert "\n    hint: " in text.err
    (found, *_) = json.loads(run("build", "--error-format", "json").err)
    assert (found["line"], found["column"], found["code"]) == (5, 1, "UNKNOWN-KEY")
    assert run("build", "--error-format", "github").err.startswith(
        "::error file=tables.toml,line=5"
    )
    assert not (project / "sql").exists()


def test_a_difference_is_an_annotation_for_github(project: Path, run: Run) -> None:
    done = run("build", "--check", "--error-format", "github")
    assert (
        "::error file=queues/jobs.py,line=1,col=1,title=FILE-MISSING::this generated file is missing"
        "%0ARun `sqlclaimgen build` and commit what it writes.\n"
    ) in done.err
    found = json.loads(run("build", "--check", "--error-format", "json").err)
    assert {one["code"] for one in found} == {"FILE-MISSING"} and len(found) == 12


def test_warnings_do_not_stop_a_build(project: Path, run: Run) -> None:
    (project / "tables.toml").write_text(
        TABLES.replace(
            "[table.payouts]",
            '[table.payouts]\nmax_attempts = 3\ndead_letter = { table = "payouts_dead" }',
        ).replace("amount = ", 'attempt = { role = "attempt" }\namount = ')
    )
    done = run("build")
    assert done.code == 0 and "warning[ATTEMPTS-ROW-LOCK]" in done.err and "wrote" in done.out
    # those that are about the description say it, those that use it do not
    for command in (["build", "--check"], ["show"]):
        assert "warning[ATTEMPTS-ROW-LOCK]" in run(*command).err, command
    for command in (
        ["price", "jobs"],
        ["price", "payouts"],
        ["sql", "payouts", "ack", "--dialect", "postgres", "--set", f"id={UUID(int=1)}"],
        ["stats", "--dsn", "sqlite:///nowhere.db"],
        ["redrive", "payouts", "--all", "--dsn", "sqlite:///nowhere.db"],
    ):
        assert "warning" not in run(*command).err, command


def test_files_on_stdout(project: Path, run: Run) -> None:
    text = run("build", "--stdout")
    assert text.code == 0 and "==> sql/postgres/jobs.sql <==\n-- From tables.toml: " in text.out
    files = json.loads(run("build", "--stdout", "--format", "json").out)
    assert sorted(one.name for one in project.iterdir()) == ["pyproject.toml", "tables.toml"]
    run("build")
    assert files == {path: (project / path).read_text() for path in files}


def test_reports_for_a_program(project: Path, run: Run) -> None:
    checked = json.loads(run("build", "--check", "--format", "json").out)
    assert not checked["current"] and checked["unchanged"] == 0
    first = checked["differences"][0]
    assert first["state"] == "missing" and first["action"] == "write" and "+++ b/" in first["diff"]
    built = json.loads(run("build", "--format", "json").out)
    assert built["differences"] == checked["differences"]
    assert json.loads(run("build", "--format", "json").out)["current"]


def test_a_missing_file_and_a_wrong_call(project: Path, run: Run) -> None:
    done = run("build", "nowhere.toml")
    assert done.code == 2 and "nowhere.toml:1:1: error[FILE-MISSING]" in done.err
    assert run("build", "--nope").code == 2
    assert run("nope").code == 2
    (project / "sql").write_text("in the way")
    failed = run("build")
    assert failed.code == 2 and "error[OUTPUT]: " in failed.err and "hint: " in failed.err


def test_a_broken_lock(project: Path, run: Run) -> None:
    (project / "sqlclaimgen.lock").write_text("<<<<<<< ours\n")
    done = run("build")
    assert done.code == 2
    assert done.err.startswith("sqlclaimgen.lock:1:1: error[LOCK-UNREADABLE]: ")


def every_finding(project: Path, run: Run) -> None:
    """A build that has a warning of the description, a drain, and a file that is left over."""
    run("build")
    (project / "sql/sqlite/jobs.sql").write_text("mine\n")
    (project / "tables.toml").write_text(
        TABLES.replace('"postgres", "sqlite"', '"postgres"')
        .replace(
            "[table.payouts]",
            '[table.payouts]\nmax_attempts = 3\ndead_letter = { table = "payouts_dead" }',
        )
        .replace("amount = ", 'attempt = { role = "attempt" }\namount = ')
    )


@pytest.mark.parametrize("arguments", [(), ("--check",)], ids=["build", "check"])
def test_every_finding_is_in_one_array(project: Path, run: Run, arguments: tuple[str, ...]) -> None:
    every_finding(project, run)
    found = json.loads(run("build", *arguments, "--error-format", "json").err)
    assert {"ATTEMPTS-ROW-LOCK", "DRAIN", "FILE-STALE"} <= {one["code"] for one in found}
    (project / "queues/jobs.py").write_text("mine\n")
    found = json.loads(run("build", *arguments, "--error-format", "json").err)
    assert {"ATTEMPTS-ROW-LOCK", "FILE-EDITED"} <= {one["code"] for one in found}


def test_nothing_found_is_an_empty_array(project: Path, run: Run) -> None:
    assert json.loads(run("build", "--error-format", "json").err) == []


def test_every_finding_is_an_annotation(project: Path, run: Run) -> None:
    every_finding(project, run)
    lines = run("build", "--error-format", "github").err.splitlines()
    assert len(lines) >= 3 and all(line.startswith("::warning file=") for line in lines)


def fault(*_: object) -> None:
    raise KeyError("a fault")


def full(*_: object) -> None:
    raise OSError(28, "No space left on device", "queues/jobs.py")


@pytest.mark.parametrize(
    ("failure", "said"),
    [(fault, "this is a fault of sqlclaimgen"), (full, "queues/jobs.py: No space left on device")],
)
def test_what_fails_is_reported_in_every_format(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, failure: object, said: str
) -> None:
    monkeypatch.setattr("sqlclaimgen.output.write", failure)
    text, as_json, github = (run("build", "--error-format", one) for one in ErrorFormat)
    assert text.code == as_json.code == github.code == 2
    assert f"error: {said}" in text.err and "read and write there" not in text.err
    (found,) = json.loads(as_json.err)
    assert found["what"].startswith(said) and found["file"] == ""
    assert re.fullmatch(rf"::error title=\w+::{said}.*\n", github.err)


@pytest.mark.parametrize("mark", [".git", ""], ids=["repository", "workspace"])
def test_annotations_are_relative_to_the_repository(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    folder = tmp_path / "services/a"
    folder.mkdir(parents=True)
    (folder / "tables.toml").write_text(TABLES.replace("lease =", "leese ="))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    if mark:
        (tmp_path / mark).mkdir()
        monkeypatch.delenv("GITHUB_WORKSPACE")
    for place, argument in ((folder, "tables.toml"), (tmp_path, "./services/a"), (folder, folder)):
        monkeypatch.chdir(place)
        done = run("build", argument, "--error-format", "github")
        assert done.err.startswith("::error file=services/a/tables.toml,line=5,col=1,")


@pytest.mark.parametrize(
    "pair", [("--check", "--force"), ("--check", "--stdout"), ("--stdout", "--force")]
)
def test_options_that_do_not_go_together(project: Path, run: Run, pair: tuple[str, str]) -> None:
    done = run("build", *pair)
    assert (done.code, done.out) == (2, "") and all(one in done.err for one in pair)
    assert not (project / "sql").exists()


def test_a_diff_names_files_from_the_current_folder(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("build")
    (project / "queues/jobs.py").write_text("mine\n")
    monkeypatch.chdir(project.parent)
    done = run("build", "--check", project.name)
    assert f"--- a/{project.name}/queues/jobs.py\n+++ b/{project.name}/queues/jobs.py\n" in done.out
    assert f"edited by hand: {project.name}/queues/jobs.py\n" in done.err
