"""Writes results as the other commands do, small ones."""

import json
import sqlite3
from itertools import product
from tomllib import loads

from gen.report.gcn_section import STYLES
from gen.sweep.store import PointRow, Store
from sim.switchgnn.gcn.traffic import FRAMES, traffic

SPEC = {"design": "p4sgd-worker", "preset": "tiny", "grid": {"engines": [1, 2, 4]}}


def point(engines, bits, status="done", **changes):
    """Return a point of a sweep of engines and bits."""
    cycles = 1000 * bits / engines + 100
    values = {
        "key": f"{engines}-{bits}",
        "design": "p4sgd-worker",
        "parameters": {"engines": engines, "engine.banks": 8, "l2": False},
        "workload": {"bits": bits, "data": "digits"},
        "status": status,
        "metrics": {"cycles": cycles, "samples_per_second": 1e8 / cycles, "lut": 9000.0 * engines}
        if status == "done"
        else {},
        "error": "engines of 3 are no power of two" if status == "failed" else "",
        "log": "",
        "seconds": 1.5,
        "attempts": 1,
    }
    return PointRow(**(values | changes))


def grid(**changes):
    """Return 3 x 4 points, of which one failed and one waits."""
    points = [point(e, b, **changes) for e, b in product((1, 2, 4), (1, 2, 4, 8))]
    points[1] = point(1, 2, "failed")
    points[2] = point(1, 4, "waiting")
    return points


def write_sweep(path, points, spec=SPEC):
    """Write the database of a sweep."""
    with Store.writing(path) as store:
        store.begin(spec, "identity")
        store.add(points)
        for row in points:
            if row.status == "done":
                store.done(row.key, row.metrics, row.seconds)
            elif row.status == "failed":
                store.failed(row.key, row.error)
    return path


def epoch(number, exact=True):
    """Return an epoch of a training run."""
    scale = {"rtl": 1.0, "golden": 1.125, "float": 1.25}
    losses = {f"{source}_loss": 0.5 * scale[source] / number for source in scale}
    accuracies = {f"{source}_accuracy": 1 - 0.3 * scale[source] / number for source in scale}
    return {
        "epoch": number,
        **losses,
        **accuracies,
        **{f"{source}_test_{kind}": None for source in scale for kind in ("loss", "accuracy")},
        "bit_exact": exact,
        "counters": {"cycles": 2839, "memory_stalls": 135, "read_errors": 0},
        "network": {},
    }


def made_by(command, design, exact=True):
    """Return what every run's result says of its making."""
    verdict = {True: "all equal", False: "the last sum", None: "a model"}[exact]
    by = {"command": command, "design": design, "title": f"a run of {design}", "exact": exact}
    result = """
    format = 2
    preset = "tiny"
    figures = {cycles = 1234, rate = 0.5}
    curves = {}
    warnings = []
    """
    return loads(result) | by | {"verdict": verdict, "workload": {"load": 3, "kind": None}}


def training(epochs=3, exact=True, **changes):
    """Return what ``ingather train`` writes, as far as the page shows it."""
    result = """
    workload = {loss = "logistic", bits = 4, batch = 64, center = false, workers = 1}
    data = {name = "digits", samples = 1797, features = 64, classes = "", order = "shuffled"}
    eta = 0.427
    hardware = {engines = 1}
    cycles = 8517
    milliseconds = 0.034
    clock_mhz = 250
    simulated_cycles = 9400
    simulated_cycles_per_second = 35193.3
    """
    run = made_by("train", "p4sgd-worker", exact) | loads(result)
    run["workload"]["eta"] = None
    return run | {"epochs": [epoch(number + 1, exact) for number in range(epochs)]} | changes


def resources(**amounts):
    """Return a number for each kind of resource."""
    kinds = ("luts", "lut", "lutram", "ff", "carry", "dsp", "bram18", "uram")
    return {kind: amounts.get(kind, 0) for kind in kinds}


def module(name, count=1, **amounts):
    """Return a module of an estimate."""
    result = {"name": name, "count": count, "own": resources(**amounts)}
    return result | {"depth": {"levels": 4}, "children": {}}


def estimate(modules=12, **changes):
    """Return what ``ingather synth --json`` writes, as far as the page shows it."""
    parts = [module(f"part_{k}", k + 1, luts=10 * k, ff=7) for k in range(modules)]
    slr = {"name": "SLR0", "free": {}, "shell": resources(lut=100, ff=50)}
    slr["offers"] = resources(lut=1000, ff=2000, bram18=100, uram=10, dsp=50)
    result = """
    design = "p4sgd-engine"
    preset = "u280"
    parameters = {}
    top = "part_0"
    depth = {module = "part_1", levels = 4}
    fits = true
    lacks = []
    device = {name = "u280", part = "x"}
    """
    result = loads(result) | {"total": resources(luts=750, ff=300, dsp=12), "modules": parts}
    result["device"]["slrs"] = [slr, slr]
    return result | changes


def node(**changes):
    """Return a node of a product."""
    counters = {"consumed": 100, "local": 60, "coalesced": 10, "filtered": 20, "prs": 10}
    packets = {"reads": 3.0, "responses": None}
    return {"goodput": 0.5, "prs_per_packet": packets, "unit_counters": counters} | changes


def gather(exact=True, **changes):
    """Return what ``ingather spmm`` writes, as far as the page shows it."""
    result = """
    matrix = {name = "stokes", rows = 400, nonzeros = 9000}
    partition = {nodes = 2}
    cycles = 12345
    microseconds = 49.38
    clock_mhz = 250
    simulated_cycles_per_second = 9000.0
    [network]
    link_bytes = 70000
    link_packets = 300
    links = [{}, {}, {}, {}]
    tail_node = 1
    tail_received_bytes = 20000
    tail_cycles = 12000
    switches = [{name = "ToR 0", hits = 7, packets_in = {reads = 150}}]
    """
    result = made_by("spmm", "netsparse-snic", exact) | loads(result)
    result["workload"] = {"property_bytes": 64, "model": exact is None}
    return result | {"nodes": [node(), node()], "all": node()} | changes


def run(**changes):
    """Return one simulation of an item."""
    result = """
    component = "hdl.common.fifo.Fifo"
    top = "fifo_8x4"
    test_module = "tests.hdl.common.test_fifo"
    seed = 1
    built = true
    build_seconds = 5.0
    seconds = 0.5
    cycles = 1000
    cases = [{name = "fills", passed = true, cycles = 1000, seconds = 0.5, message = ""}]
    """
    return loads(result) | changes


def item(test, outcome="passed", **changes):
    """Return one item of a regression."""
    result = {"test": test, "seed": 1, "outcome": outcome, "seconds": 6.0, "failure": None}
    message = "" if outcome == "passed" else "assert 3 == 4"
    return result | {"message": message, "runs": [run()]} | changes


FAILURE = loads("""
case = "fills"
first_wrong = {cycle = 41, stream = "out", index = 3, field = "", expected = "4", got = "3"}
replay = "ingather verify --filter fifo --seed 1 --waves"
log = "failures/1/log.txt"
waves = "failures/1/dump.vcd"
gtkw = "failures/1/view.gtkw"
""")


def verify(items=None, **changes):
    """Return what ``ingather verify`` writes."""
    result = """
    format = 1
    made_by = "ingather"
    command = "verify"
    started = "2025-01-01T00:00:00"
    seconds = 10.0
    jobs = 2
    seeds = [1]
    interrupted = false
    simulation_seconds = 15.0
    """
    failed = item("tests/b.py::test_b", "failed", failure=FAILURE)
    return loads(result) | {"items": items or [item("tests/a.py::test_a"), failed]} | changes


def coverage(**changes):
    """Return what ``ingather verify --coverage`` writes."""
    result = """
    format = 1
    thresholds = {line = 95, toggle = 85}
    exclusions = []
    below = ["hdl.common.fifo.Fifo: toggle 50.0 %"]
    [[components]]
    component = "hdl.common.fifo.Fifo"
    modules = ["fifo_8x4"]
    line = {hit = 99, total = 100, excluded = 3}
    toggle = {hit = 50, total = 100, excluded = 0}
    missed = [{kind = "toggle", module = "fifo_8x4", where = "level[3]"}]
    bins = [{group = "fifo", bin = "full", hits = 3}]
    """
    return loads(result) | changes


def write(path, content):
    """Write JSON into a file, and make its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def everything(folder):
    """Return a folder with a result of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sweep(folder / "scaling.sqlite", grid())
    write(folder / "verify/verify.json", verify())
    write(folder / "verify/coverage.json", coverage())
    write(folder / "engine.json", estimate())
    write(folder / "digits/result.json", training())
    write(folder / "stokes/result.json", gather())
    return folder


def foreign_database(path):
    """Write a database of SQLite that is no sweep's."""
    connection = sqlite3.connect(path)
    connection.execute("create table other (name text)")
    connection.commit()
    connection.close()
    return path


GCN_COUNTERS = {
    name for kinds in FRAMES.values() for pair in kinds.values() for side in pair for name in side
}


def gcn_epoch(number):
    losses = {f"{source}_loss": 2.0 / (1 + number) for source in STYLES}
    accuracies = {f"{source}_test_accuracy": 0.25 * number for source in STYLES}
    return {"epoch": number} | losses | accuracies


def gcn_run(**changes):
    """Return a run as ``ingather gcn`` writes it, a small one."""
    workers = [{name: 10 * k for name in GCN_COUNTERS} | {"sent_again": 0} for k in (1, 2)]
    result = """
    title = "digits, 64 x 32 x 10"
    preset = "small"
    workload = {adder = "rtl", workers = 2, plan = "destinations"}
    data = {name = "digits", vertices = 1797, edges = 24680}
    cut = {edges = 900}
    figures = {frames = 3578.5, repeats = 0.0, cycles = 3581.0}
    exact = true
    verdict = "all equal"
    warnings = []
    """
    result = loads(result) | {
        "epochs": [gcn_epoch(k) for k in range(4)],
        "traffic": traffic(workers),
    }
    result["hardware_counters"] = {"workers": workers, "switch": {"rows": 123456}}
    return result | changes
