from sim.netsparse.bench import gather


def test_the_hardware_has_room_for_its_rows():
    rig = gather.HARDWARE.rig
    assert gather.ROWS * rig.most_property_bytes < 1 << rig.address_bits


def test_marks():
    assert gather.LEAST_PIPELINE.holds(0.95)
    assert not gather.LEAST_PIPELINE.holds(0.949)
    assert not gather.ALIGNED.holds(6)
