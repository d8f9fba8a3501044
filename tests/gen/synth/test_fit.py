from gen.synth.device import U280
from gen.synth.fit import crowded, fits, free_of
from gen.synth.resources import Resources


def test_what_is_free_is_exact():
    free = free_of(U280)
    assert fits(Resources(lut=free["luts"] - 5, lutram=5, uram=960), U280) == []


def test_what_lacks_is_told_by_kind_and_amount():
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
