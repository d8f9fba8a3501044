import pytest

from sim.netsparse.bench.pending_table import held

SIZES = {"lut": 1_821, "lutram": 544, "ff": 827}


def figures(entries=256, **sizes):
    return {
        "parameters": {"rig": {"pending_entries": entries}},
        "modules": [
            {"component": "PendingWay"},
            {"component": "PendingTable", "inclusive": SIZES | sizes},
        ],
    }


def test_more_entries_in_less_area():
    assert [row.value for row in held(figures())] == [256, 1_821, 544, 827]
    assert all(row.holds for row in held(figures()))


@pytest.mark.parametrize("worse", [{"entries": 128}, {"lut": 2_101}, {"ff": 2_436}])
def test_what_a_table_must_keep(worse):
    assert sum(not row.holds for row in held(figures(**worse))) == 1
