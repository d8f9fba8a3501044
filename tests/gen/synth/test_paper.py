from gen.synth.paper import netsparse, p4sgd
from gen.synth.resources import Resources
from tests.gen.synth.built import memory, module, synthesis_of, worker


def test_table_three_counts_all_engines_with_what_is_in_them():
    engines, transport, hbm, pcie = p4sgd(worker(8)).rows
    assert engines.part == "8 engines"
    assert engines.paper == {"LUT K": 188, "FF K": 904, "RAM Mb": 152, "DSP": 4096}
    # 8 x 66 x 288 Kb
    assert engines.own == {"LUT K": 80.0, "FF K": 144.0, "RAM Mb": 148.5, "DSP": 4096}
    assert transport.own == {"LUT K": 1.2, "FF K": 0.8, "RAM Mb": 1.0, "DSP": 0}
    assert transport.paper["LUT K"] == 10
    assert (hbm.own, pcie.own) == ({}, {})
    assert pcie.paper["FF K"] == 98


def test_another_number_of_engines_is_said():
    assert p4sgd(worker(4)).rows[0].part == "8 engines (ours: 4)"


def test_a_class_takes_its_share_of_the_sets_of_engines():
    row = p4sgd(worker(8, classes=4)).rows[-1]
    assert (row.part, row.paper) == ("a class, of 4", {})
    # of two engines, and of two sets
    assert row.own == {"LUT K": 20.4, "FF K": 36.0, "RAM Mb": 37.12, "DSP": 1024}


def test_a_design_without_the_parts_has_no_comparison():
    alone = synthesis_of(module("fifo", "Fifo"))
    assert p4sgd(alone) is None
    assert netsparse(alone) is None


def test_table_nine_gives_each_structure_its_share():
    unit = synthesis_of(
        module("fifo", "Fifo", Resources(lut=10), memory=memory(8, 100)),
        module("free", "FreeEntries", Resources(lut=5)),
        module("pending", "PendingTable", Resources(lut=45), children={"free": 1}),
        module("filter", "FilterPort", Resources(lut=10, ff=3)),
        module("check", "IdxCheck", Resources(lut=3)),
        module(
            "client", "Client", Resources(lut=4), children={"pending": 1, "filter": 1, "check": 2}
        ),
        module("fetch", "IdxFetch", Resources(lut=5), children={"fifo": 1}),
        module(
            "unit",
            "RigUnit",
            Resources(lut=5, ff=1),
            children={"fetch": 1, "client": 1, "fifo": 1},
        ),
    )
    rows = {row.part: row for row in netsparse(unit).rows}
    assert {part: row.own["LUT %"] for part, row in rows.items() if row.own["LUT %"]} == {
        "Idx buffer": 10,
        "Pending PR Table": 50,
        "Property buffer": 10,
        "LSQ": 10,
        "Rest": 20,
        "Rest: idx fetch": 5,
        "Rest: idx pipeline": 10,
        "Rest: between them": 5,
    }
    assert rows["LSQ"].own["FF %"] == 75
    assert rows["Idx buffer"].own["memory %"] == 50
    assert [row.paper["area %"] for row in rows.values() if row.paper] == [12, 53, 12, 10, 13]


def test_figure_twenty_gives_each_extension_its_share():
    """What hosts, registers and rings take counts nowhere; a cache's own units are the L1s."""
    children = {"unit": 2, "cache": 1, "con": 1, "fifo": 3, "host": 1}
    snic = synthesis_of(
        module("fifo", "Fifo", Resources(lut=10), memory=memory(8, 1 << 20)),
        module("unit", "RigUnit", Resources(lut=20), children={"fifo": 1}),
        module("near", "UnitCache", Resources(lut=5), memory=memory(32, 1 << 18)),
        module("cache", "FilterCache", Resources(lut=20), children={"near": 2, "fifo": 1}),
        module("con", "Concatenator", Resources(lut=25)),
        module("host", "HostReader", Resources(lut=99), children={"fifo": 1}),
        module("snic", "Snic", Resources(lut=99), children=children),
    )
    rows = [row for row in netsparse(snic).rows if row.part.startswith("SNIC")]
    assert [row.own["LUT %"] for row in rows] == [100, 48, 8, 24, 20, 0]
    assert [row.own["memory MB"] for row in rows] == [5, 2, 2, 1, 0, 0]
    assert rows[0].paper == {"memory MB": 3.5}
