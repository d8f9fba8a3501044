from gen.synth.device import U280
from gen.synth.resources import Resources


def test_the_slrs_are_what_vivado_reports():
    assert U280.offers == Resources(lut=1_163_520, ff=2_327_040, bram18=3_504, uram=960, dsp=8_496)


def test_the_shell_is_taken_off():
    first = U280.slrs[0]
    assert first.free["luts"] == 400_800 - 63_000 - 10_700
    assert first.budget["luts"] == 400_800 * 70 // 100 - 63_000 - 10_700
    assert U280.slrs[1].free["uram"] == 320
