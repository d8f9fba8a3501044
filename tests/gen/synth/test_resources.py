from gen.synth.resources import Resources


def test_sums_differences_and_multiples_are_of_every_kind():
    one = Resources(lut=1, lutram=2, ff=3, carry=4, dsp=5, bram18=6, uram=7)
    assert one + one == 2 * one == one * 2
    assert 2 * one - one == one
    assert (3 * one).uram == 21


def test_luts_are_of_both_uses():
    assert Resources(lut=5, lutram=3).luts == 8
