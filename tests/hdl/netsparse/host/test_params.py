from hdl.netsparse.host.params import HostParams
from tests.rejects import refuses

test_rejects = refuses(
    lambda kind, sizes: kind(**({"units": 2} | sizes) if kind is HostParams else sizes),
    (HostParams, {"units": 0}, "units must be from 1 to 64: 0"),
    (HostParams, {"units": 65}, "units must be from 1 to 64: 65"),
    (HostParams, {"address_bits": 12}, "address_bits must be from 13 to 64: 12"),
    (HostParams, {"address_bits": 65}, "address_bits must be from 13 to 64: 65"),
    (HostParams, {"most_bytes": 0}, "most_bytes must be a multiple of 4 from 4 to 4096: 0"),
    (HostParams, {"most_bytes": 6}, "most_bytes must be a multiple of 4 from 4 to 4096: 6"),
    (HostParams, {"most_bytes": 4100}, "a multiple of 4 from 4 to 4096: 4100"),
    (HostParams, {"outstanding": 3}, "outstanding must be from 4 to 1024 requests: 3"),
)


def test_layouts_have_the_widths_that_others_rely_on():
    params = HostParams(units=32)
    assert params.read_request.size == 64 + 13
    assert params.property_beat.size == 64 + 13 + 1 + 512
    assert params.read_beat.size == 1 + 5 + 1 + 1 + 512
    assert params.done.size == 1 + 5 + 1
    assert params.line_bits == 57
    assert params.suffix != HostParams(units=32, outstanding=65).suffix
