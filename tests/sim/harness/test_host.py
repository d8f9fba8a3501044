"""Runs simulations' host with a library whose ``main`` says what it was told."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from sim.harness import host, preload
from tests.sim.harness.cache_folders import lives

REPORTED = r"""
#include <signal.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int used_memory() {
    for (int size = 8; size < 100000; size += 8) {
        const char* memory = size % 128 ? new char[size] : static_cast<char*>(
            operator new(size, std::align_val_t(64)));
        for (int place = 0; place < size; ++place) if (memory[place]) return 1;
    }
    return 0;
}
static int spoken() {
    char heard = 0;
    const int socket = atoi(getenv("INGATHER_SOCKETS"));
    const char* turns = strchr(getenv("INGATHER_TURNS"), ' ');
    if (write(socket, "x", 1) != 1 || read(socket, &heard, 1) != 1) return 1;
    return heard == 'x' && turns && read(atoi(getenv("INGATHER_TURNS")), &heard, 1) == 1 ? 0 : 2;
}
static int outlived() {
    char heard = 0;
    if (read(atoi(getenv("INGATHER_SOCKETS")), &heard, 1)) return 1;
    usleep(300000);
    return raise(SIGSEGV);
}
int main(int count, char** words) {
    char folder[4096];
    for (int place = 1; place < count; ++place) printf("%s ", words[place]);
    if (count > 1 && !strcmp(words[1], "outlive")) return outlived();
    printf("in %s, ", getcwd(folder, sizeof folder));
    if (count > 1 && !strcmp(words[1], "speak")) return spoken();
    printf("%s, input ends: %d\n", getenv("TOLD"), getchar() == EOF);
    fflush(stdout);
    if (count > 1 && !strcmp(words[1], "memory")) return used_memory();
    if (count > 1 && !strcmp(words[1], "alone")) kill(getppid(), SIGKILL);
    if (count > 1 && !strcmp(words[1], "sleep")) sleep(1000);
    if (count > 1 && !strcmp(words[1], "die")) raise(SIGSEGV);
    return count - 1;
}
"""
DEMANDS = """
import os, sys
from pathlib import Path
from sim.harness import host
environment = {**os.environ, "PYGPI_PYTHON_BIN": sys.executable}
host.simulate(host.request_of(sys.argv[1:], Path.cwd(), environment, Path("log")))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "told.cpp").write_text(REPORTED)
    command = [
        "g++",
        "-std=c++17",
        "-w",
        "-shared",
        "-fPIC",
        "-o",
        folder / "told.so",
        folder / "told.cpp",
    ]
    subprocess.run(command, check=True)
    return str(folder / "told.so")


def requested(command, folder, reported="something"):
    """Return the exit status, and what the log has."""
    log = folder / "log"
    environment = {**os.environ, "PYGPI_PYTHON_BIN": sys.executable, "TOLD": reported}
    status = host.simulate(host.request_of(command, folder, environment, log))
    return status, log.read_text()


def test_requests_are_received_as_sent(library, tmp_path):
    (tmp_path / "log").write_text("before\n")
    status, log = requested([library, "one", "two words"], tmp_path)
    assert status == 2
    assert log == f"before\none two words in {tmp_path}, something, input ends: 1\n"


def test_one_process_serves_one_after_the_other(library, tmp_path):
    requested([library], tmp_path)
    running = psutil.Process().children()
    assert requested([library, "die"], tmp_path)[0] == -signal.SIGSEGV
    status, log = requested([library, "again"], tmp_path, reported="else")
    assert (status, log.splitlines()[-1].split(",")[1]) == (1, " else")
    assert psutil.Process().children() == running


def together(commands, folder, **options):
    """Run linked simulations; return their exit statuses."""
    environment = {**os.environ, "PYGPI_PYTHON_BIN": sys.executable, "TOLD": "something"}
    requests = [
        host.request_of(command, folder, environment, folder / f"log_{k}")
        for k, command in enumerate(commands)
    ]
    return host.simulate_together(host.Together(requests, [((0, 0), (1, 0))], **options))


def test_simulations_at_the_same_time_have_sockets_and_turns(library, tmp_path):
    assert together([[library, "speak"]] * 2, tmp_path, turns=2) == [0, 0]


def test_one_that_fails_ends_the_others(library, tmp_path):
    statuses = together([[library, "sleep"], [library, "die"]], tmp_path)
    assert statuses == [host.ENDED, -signal.SIGSEGV]


def test_one_that_ends_as_its_neighbour_fails_is_not_the_one_that_failed(library, tmp_path):
    """Its connection ends first, and then it does itself."""
    follower = [library, *["word"] * host.ENDED]
    statuses = together([follower, [library, "outlive"]], tmp_path)
    assert statuses == [host.ENDED, -signal.SIGSEGV]


@pytest.mark.long
def test_one_that_ends_as_if_its_neighbour_had_failed_ends_the_others(library, tmp_path):
    follower = [library, *["word"] * host.ENDED]
    statuses = together([follower, [library, "sleep"]], tmp_path)
    assert statuses == [host.ENDED, host.ENDED]


def test_memory_is_as_in_a_new_process(library, tmp_path):
    assert requested([library, "memory"], tmp_path)[0] == 0


def test_what_cannot_be_loaded_is_said(tmp_path):
    status, log = requested([str(tmp_path / "none.so")], tmp_path)
    assert status == 1
    assert "none.so: cannot open shared object file" in log


def test_a_host_that_was_killed_is_replaced(library, tmp_path):
    requested([library], tmp_path)
    for process in psutil.Process().children():
        process.kill()
        process.wait()
    assert requested([library], tmp_path)[0] == 0


def test_a_host_that_dies_meanwhile_is_reported(library, tmp_path):
    with pytest.raises(RuntimeError, match="simulators start in has died"):
        requested([library, "alone"], tmp_path)
    assert requested([library], tmp_path)[0] == 0


def test_threads_do_not_wait_for_each_other(library, tmp_path):
    (tmp_path / "slow").mkdir()
    (tmp_path / "fast").mkdir()
    statuses = []
    slow = threading.Thread(
        target=lambda: statuses.append(requested([library, "sleep"], tmp_path / "slow")[0])
    )
    slow.start()
    until(lambda: asleep(psutil.Process()))
    assert requested([library], tmp_path / "fast")[0] == 0
    asleep(psutil.Process())[0].kill()
    slow.join(60)
    assert statuses == [-signal.SIGKILL]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_simulation_outlives_the_process_that_requested_it(library, tmp_path, number):
    demands = subprocess.Popen(
        [sys.executable, "-c", DEMANDS, library, "sleep"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TOLD": "nothing"},
    )
    until(lambda: asleep(psutil.Process(demands.pid)))
    everything = psutil.Process(demands.pid).children(recursive=True)
    demands.send_signal(number)
    demands.wait(60)
    until(lambda: not any(map(lives, everything)))


def test_no_simulation_outlives_its_host(library, tmp_path):

    def issue():
        with pytest.raises(RuntimeError, match="has died"):
            requested([library, "sleep"], tmp_path)

    waits = threading.Thread(target=issue)
    waits.start()
    until(lambda: asleep(psutil.Process()))
    (simulation,) = asleep(psutil.Process())
    simulation.parent().kill()
    until(lambda: not lives(simulation))
    waits.join(60)


def asleep(process):
    """Return the simulations below a process that have said all that they will."""
    children = process.children(recursive=True)
    return [
        item for item in children if item.name() == "simulation" and item.status() == "sleeping"
    ]


def until(true):
    """Wait for it, for a minute at most."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a checkout that has no files yet, instead of this one."""
    monkeypatch.setattr(preload, "CHECKOUT", tmp_path)
    monkeypatch.setattr(preload, "_stamps", {})
    monkeypatch.setattr(preload, "rewrite", lambda patterns: None)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [
        n for n, m in sys.modules.items() if str(tmp_path) in str(vars(m).get("__file__"))
    ]:
        del sys.modules[name]


def test_modules_of_the_checkout_are_imported_until_they_change(checkout):
    (checkout / "the_helper.py").write_text("VALUE = 1\n")
    (checkout / "the_tests.py").write_text("from the_helper import VALUE\n")
    assert preload.preload(["the_tests"], "")
    assert sys.modules["the_tests"].VALUE == 1
    assert not preload.stale()
    (checkout / "the_helper.py").write_text("VALUE = 20\n")
    assert preload.stale()
    (checkout / "the_helper.py").unlink()
    assert preload.stale()


def test_what_is_not_of_the_checkout_is_left_alone(checkout):
    assert not preload.preload(["json.tool"], "")
    assert not preload.preload(["nothing.of.that.name"], "")
    assert "json.tool" not in sys.modules


@pytest.mark.parametrize("text", ["import no_such_module", "raise SystemExit(3)", "1 +"])
def test_what_cannot_be_imported_is_left_to_the_simulation(checkout, text):
    (checkout / "the_tests.py").write_text(text)
    assert not preload.preload(["the_tests"], "")
    assert not preload.stale()


def test_ignores_an_interrupt_while_it_starts(tmp_path, monkeypatch, library):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.kill(os.getpid(), 2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    started = host.Host({**os.environ, "PYGPI_PYTHON_BIN": sys.executable})
    environment = {**os.environ, "PYGPI_PYTHON_BIN": sys.executable, "TOLD": "something"}
    request = host.request_of([library], tmp_path, environment, tmp_path / "log")
    assert started.simulate(host.Together([request], [])) == [0]
    started.end()
