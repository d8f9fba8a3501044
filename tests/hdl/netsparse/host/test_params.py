from hdl.netsparse.host.params import HostParams


def test_layouts_have_the_widths_that_others_rely_on():
    params = HostParams(units=32)
    assert params.read_request.size == 64 + 13
    assert params.property_beat.size == 64 + 13 + 1 + 512
    assert params.read_beat.size == 1 + 5 + 1 + 1 + 512
    assert params.done.size == 1 + 5 + 1
    assert params.line_bits == 57
    assert params.suffix != HostParams(units=32, outstanding=65).suffix
