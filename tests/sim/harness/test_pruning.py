"""Tests what is pruned from the cache, and what stays because it is young or in use."""

import time

import pytest

from sim.harness.cache import cached_folder, locked
from sim.harness.pruning import HOUR, Bounds, entries, prune, too_many
from tests.sim.harness.cache_folders import DAY, make


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    return tmp_path


def names(result):
    return [entry.path.name for entry in result]


def test_entries_are_those_of_the_cache_the_longest_unused_first(cache):
    make("sim", "a", DAY)
    make("modules", "b", 3 * DAY)
    make("sweep/builds", "c", 2 * DAY)
    (cache / "digits").mkdir()  # a user's own results, in build/
    result = entries()
    assert names(result) == ["b", "c", "a"]
    assert [entry.kind for entry in result] == ["modules", "sweep/builds", "sim"]
    assert {entry.size for entry in result} == {1000}


def test_what_is_older_or_too_much_is_chosen_but_nothing_of_the_last_hour():
    for key, age in (("a", 40 * DAY), ("b", 2 * DAY), ("c", DAY), ("d", HOUR / 2)):
        make("sim", key, age)
    result, now = entries(), time.time()
    assert names(too_many(result, Bounds(seconds=30 * DAY), now)) == ["a"]
    assert names(too_many(result, Bounds(size=2000), now)) == ["a", "b"]
    assert names(too_many(result, Bounds(size=0), now)) == ["a", "b", "c"]
    assert names(too_many(result, Bounds(seconds=0), now)) == ["a", "b", "c"]
    assert too_many(result, Bounds(), now) == []


def test_pruned_entries_are_built_again(cache):
    folder = make("captures", "a", DAY)
    (cache / "captured" / "a").mkdir(parents=True)
    assert prune(entries()) == []
    assert not folder.exists()
    assert not (cache / "captured" / "a").exists()
    assert not any((cache / "captures" / ".unfinished").iterdir())
    assert cached_folder("captures", "a", lambda folder: None) == (folder, True)


def test_what_is_being_built_or_was_requested_meanwhile_stays(cache):
    built, used = make("sim", "built", DAY), make("sim", "used", 2 * DAY)
    result = entries()
    cached_folder("sim", "used", lambda folder: None)
    with locked(cache / "sim" / ".locks" / "built"):
        assert names(prune(result)) == ["used", "built"]
    assert built.is_dir()
    assert used.is_dir()
