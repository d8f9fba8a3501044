"""Tests what the card offers, sums of resources, and what fits."""

import pytest

from gen.synth.device import SLLS, U280, crowded, fits, free_of
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


def test_what_is_free_is_exact():
    free = free_of(U280)
    assert fits(Resources(lut=free["luts"] - 5, lutram=5, uram=960), U280) == []


def test_what_lacks_is_reported_by_kind_and_amount():
    lines = fits(Resources(lut=free_of(U280)["luts"], lutram=7, uram=1_000), U280)
    free = f"{free_of(U280)['luts']:,}"
    assert lines == [
        f"does not fit u280: LUT needs 1,229,687, {free} are free, 7 too many",
        "does not fit u280: URAM needs 1,000, 960 are free, 40 too many",
    ]


def test_what_fits_may_be_crowded():
    assert crowded(Resources(uram=768), U280) == []
    (line,) = crowded(Resources(uram=769), U280)
    assert line.startswith("URAM: 80 % of u280")
    # What does not fit is told elsewhere.
    assert crowded(Resources(uram=961), U280) == []


def test_sums_differences_and_multiples_are_of_every_kind():
    item = Resources(lut=1, lutram=2, ff=3, carry=4, dsp=5, bram18=6, uram=7)
    assert item + item == 2 * item == item * 2
    assert 2 * item - item == item
    assert (3 * item).uram == 21


def test_luts_are_of_both_uses():
    assert Resources(lut=5, lutram=3).luts == 8
