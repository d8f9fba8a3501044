import pytest

from gen.synth.device import SLLS, U280
from gen.synth.resources import Resources

#: of a routed design on the U280 (Vivado's utilization by SLR): how many, and per cent of all
ROUTED = {
    "lut": ((262_817, 59.77), (280_999, 65.05), (194_542, 45.03)),
    "bram18": ((2 * 527.5, 78.50), (2 * 472.5, 70.31), (2 * 389, 57.89)),
    "uram": ((0, 0), (32, 10), (48, 15)),
    "dsp": ((2_087, 72.47), (1_956, 63.67), (1_358, 44.21)),
}


def test_the_whole_part():
    """DS963 gives it 1,304 K LUT, 2,607 K registers, 2,016 BRAM36, 960 URAM, 9,024 DSP slices."""
    assert U280.offers == Resources(
        lut=1_303_680, ff=2_607_360, bram18=2 * 2_016, uram=960, dsp=9_024
    )


@pytest.mark.parametrize("kind", ROUTED)
def test_the_slrs_are_what_vivado_reports(kind):
    for slr, (used, per_cent) in zip(U280.slrs, ROUTED[kind], strict=True):
        assert 100 * used / getattr(slr.offers, kind) == pytest.approx(per_cent, abs=0.006)
        assert slr.offers.ff == 2 * slr.offers.lut


def test_wires_between_slrs_are_what_vivado_reports():
    """In the same design, 20,637 are 89.57 %. A placement keeps to half of them."""
    assert pytest.approx(89.57, abs=0.005) == 100 * 20_637 / SLLS
    assert U280.crossing_wires == 11_520


def test_the_shell_is_taken_off():
    first = U280.slrs[0]
    assert first.free["luts"] == 439_680 - 63_000 - 7_000
    assert first.budget["luts"] == 439_680 * 70 // 100 - 63_000 - 7_000
    assert U280.slrs[1].free["uram"] == 320
