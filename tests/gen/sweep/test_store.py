"""Tests a sweep's file: what is written stays, one process writes, mistakes are one line."""

import resource
import sqlite3
from contextlib import contextmanager, suppress

import pytest

from gen.base.errors import UserError
from gen.sweep.store import PointRow, Store


def point(key, status="waiting", error=""):
    return PointRow(
        key=key,
        design="fake",
        parameters={"size": 1, "wide": True},
        workload={"share": 0.5, "loss": "hinge"},
        status=status,
        metrics={},
        error=error,
        log="",
        seconds=0.0,
        attempts=0,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "a.sqlite"


def test_a_point_goes_from_waiting_to_done(path):
    with Store.writing(path) as store:
        store.begin({"design": "fake"}, "one")
        store.add([point("a"), point("b"), point("c", "failed", "illegal")])
        store.started("a")
        store.done("a", {"speed": 2.5}, 1.5)
        store.started("b")
        reader = Store(path)  # while it is written
        first, second, third = reader.points()
        assert (first.status, first.metrics, first.seconds) == ("done", {"speed": 2.5}, 1.5)
        assert (first.parameters, first.workload) == (point("a").parameters, point("a").workload)
        assert (second.status, second.attempts) == ("running", 1)
        assert (third.status, third.error) == ("failed", "illegal")
        assert reader.spec() == {"design": "fake"}
    assert [row.key for row in Store(path).points()] == ["a", "b", "c"]


def test_what_ran_when_all_was_killed_waits_again(path):
    with Store.writing(path) as store:
        store.begin({}, "one")
        store.add([point("a"), point("b")])
        store.started("a")
        store.done("a", {"speed": 1}, 1)
        store.started("b")
    with Store.writing(path) as store:
        store.begin({}, "one")
        store.add([point("a"), point("b")])
        assert [row.status for row in store.points()] == ["done", "waiting"]


def test_another_specification_keeps_what_both_have(path):
    with Store.writing(path) as store:
        store.begin({"a": 1}, "one")
        store.add([point("a"), point("b")])
        store.done("b", {"speed": 1}, 1)
        store.add_trials([("b", {"size": 1})])
        store.begin({"a": 2}, "two")
        store.add([point("c"), point("b")])
        assert [(row.key, row.status) for row in store.points()] == [
            ("c", "waiting"),
            ("b", "done"),
        ]
        assert store.trials() == []
        assert store.find("a") == point("a")
        assert store.spec() == {"a": 2}


def test_failures_are_kept_until_they_are_forgotten(path):
    with Store.writing(path) as store:
        store.begin({}, "one")
        store.add([point("a"), point("b")])
        store.started("a")
        store.failed("a", "no", "many\nwords", 2.0)
        row = store.points()[0]
        assert (row.status, row.error, row.log) == ("failed", "no", "many\nwords")
        store.forget_failures(["b"])
        assert store.points()[0].status == "failed"
        store.forget_failures(["a"])
        assert store.points()[0] == point("a")


def test_trials_come_back_in_order(path):
    requested = [(key, {"size": n}) for n, key in enumerate("zya")]
    with Store.writing(path) as store:
        store.add_trials(requested[:2])
        store.add_trials(requested[2:])
        assert store.trials() == requested


def test_a_second_writer_is_refused_and_harms_nothing(path):
    with Store.writing(path) as store:
        store.begin({}, "one")
        store.add([point("a")])
        with pytest.raises(UserError, match="another sweep writes"), Store.writing(path):
            pass
        store.done("a", {}, 1)
    with Store.writing(path) as store:
        assert store.points()[0].status == "done"


@contextmanager
def files_of_at_most(size):
    """Let no file of this process become larger."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_a_line_and_the_file_stays_whole(path):
    with Store.writing(path) as store:
        store.begin({}, "one")
        store.add([point("a"), point("b")])
        store.done("a", {"speed": 1}, 1)

    def write_much():
        with Store.writing(path) as store, files_of_at_most(path.stat().st_size):
            store.failed("b", "no", "words " * 50_000)

    with pytest.raises(UserError, match="is there room"):
        write_much()
    check = sqlite3.connect(path).execute("pragma integrity_check").fetchone()
    assert check == ("ok",)
    assert [row.status for row in Store(path).points()] == ["done", "waiting"]


def test_sqlite_says_that_it_is_full(path):
    def write_much():
        with Store.writing(path) as store:
            store.connection.execute("pragma max_page_count = 10")
            store.add([point(f"{n}") for n in range(1000)])

    with pytest.raises(UserError, match="is full"):
        write_much()
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"text\n" * 500, "not the results"), (None, "there is no file")],
)
def test_what_is_no_sweep_is_a_line(content, words, path):
    if content is not None:
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(UserError, match=words), Store.writing(path):
            pass
        assert path.read_bytes() == content
    with pytest.raises(UserError, match=words):
        Store(path)


@pytest.mark.parametrize("outcome", ["", "begun", "not built"])
def test_a_new_file_goes_if_no_point_was_tried(outcome, path):
    with suppress(UserError), Store.writing(path) as store:
        store.begin({"design": "fake"}, "one")
        store.add([point("a")])
        if outcome == "begun":
            store.started("a")
        elif outcome:
            store.failed("a", outcome)
        raise UserError("no cluster")
    assert [file.name for file in path.parent.iterdir()] == [path.name] * bool(outcome)


def test_an_old_file_stays_if_no_point_was_tried(path):
    with Store.writing(path) as store:
        store.begin({"design": "fake"}, "one")
        store.add([point("a")])
    with pytest.raises(UserError, match="no cluster"), Store.writing(path) as store:
        raise UserError("no cluster")
    assert [row.key for row in Store(path).points()] == ["a"]


def test_another_database_is_not_touched(path):
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("create table precious (a)")
    other.commit()
    with pytest.raises(UserError, match="not the results of a sweep"), Store.writing(path):
        pass
    assert other.execute("select name from sqlite_master").fetchall() == [("precious",)]


def test_a_place_that_cannot_be_written_is_a_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write"), Store.writing(tmp_path / "file" / "a"):
        pass
