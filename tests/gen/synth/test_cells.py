import pytest

from gen.synth.cells import use_of, use_of_cells
from gen.synth.resources import Resources


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("LUT1", Resources(lut=1)),
        ("LUT6_2", Resources(lut=1)),
        ("SRL16E", Resources(lutram=1)),
        ("SRLC32E", Resources(lutram=1)),
        ("RAM32M16", Resources(lutram=8)),
        ("RAM64M8", Resources(lutram=8)),
        ("RAM64M", Resources(lutram=4)),
        ("RAM64X1D", Resources(lutram=2)),
        ("FDRE", Resources(ff=1)),
        ("FDCE", Resources(ff=1)),
        ("DSP48E2", Resources(dsp=1)),
        ("RAMB18E2", Resources(bram18=1)),
        ("RAMB36E2", Resources(bram18=2)),
        ("URAM288", Resources(uram=1)),
        ("INV", Resources()),
        ("MUXF8", Resources()),
        ("LUT7", None),
        ("CMACE4", None),
    ],
)
def test_use_of_one(kind, use):
    assert use_of(kind) == use


def test_cells_add_up_and_what_is_not_known_is_reported():
    use, unknown = use_of_cells({"LUT3": 4, "FDRE": 7, "CARRY4": 1, "INV": 9, "CMACE4": 2})
    assert use == Resources(lut=4, ff=7, carry=1)
    assert unknown == {"CMACE4": 2}


@pytest.mark.parametrize(("quarters", "carries"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)])
def test_two_carry4_are_one_carry8(quarters, carries):
    assert use_of_cells({"CARRY4": quarters})[0].carry == carries


def test_carry8_stands_for_itself():
    assert use_of_cells({"CARRY8": 3, "CARRY4": 1})[0].carry == 4
