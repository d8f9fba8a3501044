"""A design that costs nothing to build and to measure, and a cluster in this process."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from gen.catalogue import Design
from gen.sweep import plan as plans
from gen.sweep.spec import Spec
from gen.sweep.subject import SimulatedSubject
from sim.harness.verilate import PROGRAM, Build

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
class FakeWorkload:
    load: int = 1  #: how much is done
    share: float = 0.5  #: of it
    depth: int = 2  #: of what is done
    trouble: str = ""  #: raise, die, or die-once
    pause: float = 0.0  #: seconds of a measurement


class FakeSubject(SimulatedSubject):
    workload = FakeWorkload
    hardware = "tests.gen.sweep.fake"
    counted = {"speed": "of it", "cost": "of it"}
    calculated = {"ideal": "what speed might be"}
    maximise = ("speed",)

    def simulated(self, params, workload):
        return params

    def build(self, simulated):
        if simulated.size == 7:
            raise ValueError("seven cannot be built")
        note("builds", simulated.size)
        folder = Path(os.environ[FOLDER]) / f"build-{simulated.size}-{simulated.wide}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PROGRAM).touch()
        return Build(folder, "top")

    def measure(self, params, workload, build, folder, clock_mhz):
        assert build.program.exists()
        assert folder.is_dir()
        note("started", f"{params.size} {workload.load}")
        print("measuring on")
        time.sleep(workload.pause)
        if workload.trouble == "raise":
            raise ValueError(f"load {workload.load} is too much\nand more")
        deaths = note("deaths", workload.load) if workload.trouble.startswith("die") else 0
        if deaths and (workload.trouble == "die" or deaths == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        note("measured", f"{params.size} {workload.load}")
        return {"speed": params.size * workload.load * clock_mhz, "cost": params.size**2}

    def calculate(self, params, workload, counted):
        return {"ideal": 8.0 * workload.load}


DESIGN = Design(
    name="fake",
    about="nothing",
    component="builtins:str",
    params="tests.gen.sweep.fake:FakeParams",
    presets={"small": {"size": 2}, "large": {"size": 8}},
    preset="small",
)


def note(what, text):
    """Write a line; how many there are now."""
    path = Path(os.environ[FOLDER]) / what
    with path.open("a") as file:
        file.write(f"{text}\n")
    return len(path.read_text().splitlines())


def noted(folder, what):
    """The lines."""
    path = Path(folder) / what
    return path.read_text().splitlines() if path.exists() else []


def install(setter, folder, cache):
    """Let the fake be the only design; ``setter`` is of monkeypatch, or setattr."""
    setter(plans, "find_design", lambda name: DESIGN)
    setter(plans, "find_subject", lambda name: FakeSubject())
    os.environ[FOLDER] = str(folder)
    os.environ["INGATHER_CACHE"] = str(cache)


def spec(**parts):
    """A specification of the fake."""
    return Spec.model_validate({"design": "fake", "metrics": ["speed", "cost"], **parts})


class KilledWorker(Exception):
    """As Dask's."""

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
    """Runs what is submitted at once; tasks with a word of ``deaths`` in their key's kind die."""

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
    """A listener."""

    def __init__(self):
        self.points, self.texts = [], []

    def works(self, texts):
        self.texts += texts

    def ended(self, point):
        self.points.append(point)
