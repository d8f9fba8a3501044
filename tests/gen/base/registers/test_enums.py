from gen.base.registers.enums import enumeration_bits, enumerations
from tests.gen.base.registers.maps import MAPS, Colour


def test_each_enumeration_once():
    (colour,) = enumerations(MAPS["odd"]).values()
    assert dict(colour.__members__) == dict(Colour.__members__)
    assert list(enumerations(MAPS["p4sgd_worker"])) == ["Cause", "Loss"]


def test_narrowest_field_gives_the_bits():
    assert enumeration_bits(MAPS["odd"], "Colour") == 2
