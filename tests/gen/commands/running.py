"""Runs a command as a user does, and checks that it refuses what cannot be."""

import json
from threading import Thread

import psutil
import pytest

from gen.cli import main
from sim.harness.cache import cache_root
from tests.gen.sweep.fake import wait_for
from tests.local_cluster import cluster


def running(command):
    """Return a fixture that runs ``command``, and returns its status, output and errors."""

    @pytest.fixture
    def ingather(monkeypatch, capsys, tmp_path):
        monkeypatch.chdir(tmp_path)

        def run(*arguments):
            monkeypatch.setattr("sys.argv", ["ingather", command, *map(str, arguments)])
            with pytest.raises(SystemExit) as end:
                main()
            return end.value.code, *capsys.readouterr()

        return run

    return ingather


def refused(ingather, folder, arguments, says):
    """Assert that a command ends with status 2 and one line that ``says`` why.

    ``folder``, in which it runs and which then has a file that is not its own, stays as it was.
    """
    (folder / "taken").mkdir(exist_ok=True)
    (folder / "taken" / "precious.txt").write_text("mine")
    before = content(folder)
    status, _, err = ingather(*arguments)
    assert status == 2
    assert err.startswith("ingather: ")
    assert err.count("\n") == 1, err
    assert says in err
    assert content(folder) == before


def remote_and_local(ingather, folder, *arguments, endless=()):
    """Run a command on three workers of Dask, and in one process; return both results.

    With ``endless`` options it then runs again, until a worker is killed: a line says so.
    """
    near = [{"INGATHER_CACHE": str(cache_root())}] * 3
    (folder / "dask").mkdir()
    with cluster(folder / "dask", *near) as (address, processes):
        on_cluster = (*arguments, "--scheduler", address, "-o")
        status, *said = ingather(*on_cluster, "there")
        assert status == 0, said
        if endless:
            worker = psutil.Process(processes[-1].pid)
            thread = Thread(target=lambda: wait_for(worker.children) or worker.kill())
            thread.start()
            status, _, err = ingather(*on_cluster, "never", *endless)
            thread.join()
            assert status == 2
            assert "has left the cluster" in err
            assert err.count("\n") == 1, err
            assert not (folder / "never").exists()
    status, *said = ingather(*arguments, "--processes", 1, "-o", "here")
    assert status == 0, said
    results = [
        json.loads((folder / name / "result.json").read_text()) for name in ("there", "here")
    ]
    for result in results:
        result["workload"].pop("processes")
        result.pop("simulated_cycles_per_second", None)
    return results


def content(folder):
    """Return what there is in a folder: paths, and the bytes of files."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
