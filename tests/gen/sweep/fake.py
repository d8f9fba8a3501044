"""Has a design that costs nothing to build and to measure, and a cluster in this process."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from gen.designs.design import Design, Run
from gen.sweep import plan as plans
from gen.sweep.spec import Spec
from gen.sweep.subject import Subject
from sim.harness.session import Result, Session
from sim.harness.verilate import PROGRAM, Build
from sim.harness.workload import Workload, setting

FOLDER = "INGATHER_FAKE"  #: where it writes what it does


@dataclass(frozen=True, kw_only=True)
class InnerParams:
    depth: int = 4  #: of the inside, 1..9


@dataclass(frozen=True, kw_only=True)
class FakeParams:
    size: int = 1  #: 1..8
    wide: bool = False  #: or narrow
    inner: InnerParams = InnerParams()

    def __post_init__(self):
        if not 1 <= self.size <= 8:
            raise ValueError(f"size must be from 1 to 8: {self.size}")


@dataclass(frozen=True, kw_only=True)
class FakeWorkload(Workload):
    load: int = setting(1, "How much is done.", least=0)
    share: float = setting(0.5, "The share of it that counts.")
    depth: int = setting(2, "How deep it is.")
    trouble: str = setting("", "What goes wrong: raise, formula, die, or die-once.")
    pause: float = setting(0.0, "Seconds of a measurement.")


class FakeSession(Session):
    workload = FakeWorkload
    counted = {"speed": "what is done in a second", "cost": "what that takes"}
    calculated = {"ideal": "what speed might be"}
    maximise = ("speed",)

    @classmethod
    def build(cls, hardware):
        if hardware.size == 7:
            raise ValueError("seven cannot be built")
        note("builds", hardware.size)
        folder = Path(os.environ[FOLDER]) / f"build-{hardware.size}-{hardware.wide}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PROGRAM).touch()
        return Build(folder, "top")

    def run(self, simulator, folder, listener=None, clock_mhz=250.0):
        params, requested = self.params, self.requested
        assert simulator.program.exists()
        assert folder.is_dir()
        note("started", f"{params.size} {requested.load}")
        print("measuring on")
        time.sleep(requested.pause)
        if requested.trouble == "raise":
            raise ValueError(f"load {requested.load} is too much\nand more")
        deaths = note("deaths", requested.load) if requested.trouble.startswith("die") else 0
        if deaths and (requested.trouble == "die" or deaths == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        note("measured", f"{params.size} {requested.load}")
        figures = {"speed": params.size * requested.load * clock_mhz, "cost": params.size**2}
        return Result(figures=figures)

    @classmethod
    def calculate(cls, params, requested):
        if requested.trouble == "formula":
            raise ValueError(f"no formula for load {requested.load}\nand more")
        return {"ideal": 8.0 * requested.load}


class FakeComponent(str):
    """A component for the estimate."""


DESIGN = Design(
    name="fake",
    about="nothing",
    component="tests.gen.sweep.fake:FakeComponent",
    params="tests.gen.sweep.fake:FakeParams",
    presets={"small": {"size": 2}, "large": {"size": 8}},
    preset="small",
    runs=[Run(session="tests.gen.sweep.fake:FakeSession")],
)
SUBJECT = Subject(DESIGN)


def note(what, text):
    """Write a line; return how many there are now."""
    path = Path(os.environ[FOLDER]) / what
    with path.open("a") as file:
        file.write(f"{text}\n")
    return len(path.read_text().splitlines())


def noted(folder, what):
    """Return the lines."""
    path = Path(folder) / what
    return path.read_text().splitlines() if path.exists() else []


def install(setter, folder, cache):
    """Let the fake be the only design; ``setter`` is monkeypatch's setattr, or the builtin one."""
    setter(plans, "find_design", lambda name: DESIGN)
    setter(plans, "find_subject", lambda name, run: SUBJECT)
    os.environ[FOLDER] = str(folder)
    os.environ["INGATHER_CACHE"] = str(cache)


def spec(**parts):
    """Return a specification of the fake."""
    return Spec.model_validate({"design": "fake", "metrics": ["speed", "cost"], **parts})


class KilledWorker(Exception):
    """Is raised, as by Dask, when a worker has died."""

    allowed_failures = 0


class FakeFuture:
    def __init__(self, work):
        self.error = None
        try:
            self.value = work()
        except Exception as error:
            self.error = error
        self.status = "error" if self.error else "finished"

    def result(self):
        return self.value

    def exception(self):
        return self.error

    def add_done_callback(self, callback):
        callback(self)

    def cancel(self):
        pass


class FakeClient:
    """Runs what is submitted at once; the first ``deaths`` measurements kill their workers."""

    status = "running"

    def __init__(self, deaths=0, slots=2):
        self.deaths, self.slots, self.keys = deaths, slots, []

    def nthreads(self):
        return {"tcp://here": self.slots}

    def submit(self, function, *arguments, key, pure):
        def work():
            if self.deaths and function.__name__ == "measure":
                self.deaths -= 1
                raise KilledWorker
            return function(*arguments)

        self.keys.append(key)
        return FakeFuture(work)


class Silent:
    """A listener that says nothing."""

    def __init__(self):
        self.points, self.texts = [], []

    def works(self, texts):
        self.texts += texts

    def ended(self, point):
        self.points.append(point)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
