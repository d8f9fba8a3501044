import pytest

from gen.base.errors import UserError
from gen.designs.catalogue import designs
from gen.designs.design import Design
from gen.sweep.subject import Subject, find_subject
from sim.harness.closure import SOURCES

RUNS = [(name, run.name) for name, design in designs().items() for run in design.runs if run.name]


@pytest.mark.parametrize(("design", "run"), [*((name, "") for name in designs()), *RUNS])
def test_every_design_can_be_swept(design, run):
    subject = find_subject(design, run)
    session = subject.session
    assert set(subject.maximise) <= subject.metrics().keys()
    assert not session.counted.keys() & session.calculated.keys()
    assert session.swept.keys() <= session.workload.__dataclass_fields__.keys()
    result = {path.as_posix() for path in SOURCES.files(subject.sources({"rtl", "synth"}))}
    component = subject.design.component.partition(":")[0].replace(".", "/")
    assert any(path.endswith(f"/{component}.py") for path in result)


def test_origins_are_what_metrics_need():
    worker = find_subject("p4sgd-worker")
    assert worker.origins(["luts", "ideal_cycles_per_epoch"]) == {"synth"}
    assert worker.origins(["cycles", "fits"]) == {"rtl", "synth"}
    assert worker.origins([]) == set()
    with pytest.raises(UserError, match="the nearest are cycles"):
        worker.origins(["cycels"])


def test_modules_follow_the_origins():
    worker = find_subject("p4sgd-worker")

    def files(origins):
        return {path.as_posix() for path in SOURCES.files(worker.sources(origins))}

    def has(origins, name):
        return any(path.endswith(name) for path in files(origins))

    assert not has({"rtl"}, "gen/synth/synthesis.py")
    assert has({"synth"}, "gen/synth/synthesis.py")
    for name in (
        "hdl/p4sgd/engine/bank.py",
        "sim/p4sgd/golden/formula.py",
        "sim/p4sgd/golden/float_sgd.py",
        "sim/harness/verilate.py",
        "sim/p4sgd/train_in_simulator.py",  # which is only named, for the simulator
    ):
        assert has({"rtl"}, name), name
    assert not any("/netsparse/" in path for path in files({"rtl", "synth"}))


def test_designs_that_cannot_be_swept_are_reported():
    with pytest.raises(UserError, match="did you mean p4sgd-worker"):
        find_subject("p4sgd-workr")
    with pytest.raises(UserError, match="did you mean schedule"):
        find_subject("mina-switch", "shedule")
    still = Design(name="still", about="nothing", component="a:b", params="a:c", preset="")
    with pytest.raises(UserError, match="still cannot be swept: its descriptor has no runs"):
        assert Subject(still).session
