"""Compares an engine's figures with its limits and the authors'."""

from sim.p4sgd.bench.card import sizes

TOTAL = {"luts": 9_000, "ff": 15_000, "dsp": 512, "uram": 66, "bram18": 0}
DEPTH = {"most_levels": 5, "most_chains": 1, "most_carry": 40}


def test_an_engine_stands_beside_the_authors_engine():
    made = {row.what: row for row in sizes({"total": TOTAL, "depth": DEPTH})}
    assert all(row.holds for row in made.values())
    assert made["engine: LUT, LUTRAM, SRL"].note == "authors' RTL 26,900; paper 23,500"
    assert made["engine: FF"].note == "authors' RTL 49,500; paper 113,000"
    assert made["engine: URAM288"].note == "authors' RTL 66"


def test_an_engine_that_takes_too_much_is_told():
    made = sizes({"total": TOTAL | {"uram": 67}, "depth": DEPTH})
    assert [row.what for row in made if not row.holds] == ["engine: URAM288"]
