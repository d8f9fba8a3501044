import subprocess
import sys

import pytest

from sim.harness.cache import cached_folder, digest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    return tmp_path


def fill(folder):
    (folder / "file").write_text("text")


def test_built_once():
    first, fresh = cached_folder("kind", "key", fill)
    again, stale = cached_folder("kind", "key", fill)
    assert fresh
    assert not stale
    assert first == again
    assert (first / "file").read_text() == "text"


def test_a_failure_is_no_folder():
    def fail(folder):
        fill(folder)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cached_folder("kind", "key", fail)
    _, fresh = cached_folder("kind", "key", fill)
    assert fresh


KILLED = """
import os, signal
from sim.harness.cache import cached_folder
def die(folder):
    (folder / "half").write_text("")
    os.kill(os.getpid(), signal.SIGKILL)
cached_folder("kind", "key", die)
"""


def test_a_killed_process_leaves_neither_lock_nor_folder(cache):
    env = {"INGATHER_CACHE": str(cache), "PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run([sys.executable, "-c", KILLED], env=env, check=False)
    assert result.returncode < 0
    folder, fresh = cached_folder("kind", "key", fill)
    assert fresh
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_digest_distinguishes_parts():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a") == digest("a")
