"""Judges no point of the formula that its hardware refuses, and names those that a part is of."""

import re

import pytest

from sim.golden.choices import Schedule
from sim.p4sgd.golden.formula import PAPER_DATA, PAPER_MACHINE, Machine
from sim.p4sgd.host.capacity import Capacity
from sim.p4sgd.reproduce import fitting, parallelism
from sim.p4sgd.reproduce.scaling import BATCH_SIZE, SCALE_OUT, SCALE_UP
from sim.p4sgd.reproduce.sweep import PAPER_SIZE
from tests.sim.p4sgd.reproduce.figures import by_the_formula

LINK = 100
AVAZU = PAPER_DATA[-1]
FIFO_BITS = [12, 14]  #: half a million features of 8 engines at 4 bits, and two million


@pytest.fixture(params=FIFO_BITS)
def fifo_words(request, monkeypatch):
    """Let the formulas' hardware have a word FIFO of this size."""
    own = fitting.capacity_of

    def capacity_of(*arguments):
        held = own(*arguments)
        fixed = {**held.fixed, "fifo_words": 1 << request.param, "max_chunks": 4096}
        return Capacity(fixed=fixed, workers=held.workers)

    monkeypatch.setattr(fitting, "capacity_of", capacity_of)
    return 1 << request.param


def figure(sweep):
    return sweep.figure(False, LINK, by_the_formula(sweep.points(False, LINK)))


def holds_model(row, fifo_words):
    chunks = -(-row["features"] // (row["workers"] * row["engines"] * 64))
    return chunks <= 4096 and 4 * chunks <= fifo_words


@pytest.mark.parametrize("sweep", [BATCH_SIZE, SCALE_UP, SCALE_OUT], ids=lambda sweep: sweep.name)
def test_points_that_the_hardware_refuses_have_no_numbers(sweep, fifo_words):
    result = figure(sweep)
    rows = [row for row in result.rows if row["data"] != "zeros"]
    for row in rows:
        held = holds_model(row, fifo_words)
        assert (row["refused"] == "") is held
        assert (row["formula_cycles"] != "") is held
        assert (row["samples_per_kilocycle"] != "") is held
        assert (row["epoch_seconds"] != "") is held
    whole = next(claim for claim in result.claims if claim.text.startswith(PAPER_SIZE))
    for data in PAPER_DATA:
        own = [holds_model(row, fifo_words) for row in rows if row["data"] == data.name]
        assert (data.name in whole.result) is all(own)
        refused = re.search(rf"{data.name}, pipelined, \w+ [\d, ]+: not jud", result.note)
        assert (refused is None) is all(own)


def test_avazu_on_one_worker_is_not_judged(fifo_words):
    text = figure(SCALE_UP).text()
    assert "avazu, D =" not in text
    engines = [n for n in (1, 2, 4, 8) if not holds_model(row_of(n), fifo_words)]
    values = ", ".join(map(str, engines))
    assert (
        f"avazu, pipelined, engines {values}: not judged, because the hardware"
        " refuses them. At engines 1, 1000000 features need 15625 chunks an engine, the model"
        " memory holds 4096: at most " in text
    )


def row_of(engines):
    return {"features": AVAZU.features, "workers": 1, "engines": engines}


def test_close_to_linear_is_judged_on_what_fits(fifo_words):
    """One worker with the smaller FIFO refuses a million features, two share them."""
    claim = next(claim for claim in figure(SCALE_OUT).claims if "1 million" in claim.text)
    first = 1 if fifo_words == 1 << 14 else 2
    assert f" from {first} to 8, " in claim.result
    assert claim.holds


def test_nothing_is_said_of_what_nothing_holds(monkeypatch):
    def capacity_of(machine, schedule=Schedule.PIPELINED):
        small = Machine(engines=1)
        return Capacity(fixed={**own(small).fixed, "max_chunks": 90}, workers=machine.workers)

    own = fitting.capacity_of
    monkeypatch.setattr(fitting, "capacity_of", capacity_of)
    result = figure(SCALE_OUT)
    assert not any("1 million" in claim.text for claim in result.claims)


def test_what_memory_holds_a_part_of_is_named():
    result = figure(SCALE_OUT)
    rows = {row["workers"]: row for row in result.rows if row["data"] == "avazu"}
    held = fitting.capacity_of(PAPER_MACHINE).samples(AVAZU.features, 4)
    assert rows[8]["samples_held"] == held < rows[8]["samples"] == AVAZU.samples
    assert "8: cycles of a part of the data, because the memories hold at most" in result.note
    assert f"{held:,} of 40,428,967 samples; the table's epoch_seconds" in result.note
    assert {row["samples_held"] for row in result.rows if row["data"] == "gisette"} == {6000}
    shared = fitting.held(PAPER_DATA[3], Machine(workers=4), Schedule.DATA_PARALLEL)
    alone = fitting.capacity_of(Machine(workers=1)).samples(PAPER_DATA[3].features, 4)
    assert shared == 4 * alone


def test_the_paper_took_a_part_of_avazu_and_of_no_other():
    """Its training took less time than an epoch by the ideal formula."""
    (text,) = fitting.parts_of_paper()
    assert "part of avazu: dense, at 4 bits, it is 20.2 TB, and the 4.12 s of its table IV" in text
    assert "fewer than the 19.8 s in which 8 workers of 8 engines read it once" in text
    assert text in figure(BATCH_SIZE).note


def test_models_that_each_worker_must_hold(fifo_words):
    points = parallelism.points(True, LINK)
    result = parallelism.figure(True, LINK, by_the_formula(points))
    rows = [row for row in result.rows if row["data"] == "avazu"]
    own = {schedule: [r for r in rows if r["schedule"] == schedule.value] for schedule in Schedule}
    holds = fifo_words == 1 << 14
    assert all((row["refused"] == "") is holds for row in own[Schedule.DATA_PARALLEL])
    assert not any(row["refused"] for row in own[Schedule.PIPELINED])
    assert all(
        (row["refused"] == "") is (row["batch"] // 8 * 489 * 4 <= fifo_words)
        for row in own[Schedule.VANILLA]
    )
    assert any("avazu" in claim.result for claim in result.claims) is holds
