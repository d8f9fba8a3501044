from gen.datasheet.links import structure


def test_streams_and_buses_join_blocks_and_ports(demo):
    found = structure(demo)
    assert {(b.title, b.module, b.count) for b in found.blocks.values()} == {
        ("registers", "register_block_demo", 1),
        ("sum", "sum_2x40", 1),
        ("unit_0..1", "unit_2x40", 2),
    }
    streams = {
        (link.source, link.sink, link.label, link.bits, link.count)
        for link in found.links
        if link.is_stream
    }
    assert streams == {
        ("@s_axil", "registers", "axil", 32, 1),
        ("@words", "unit", "i", 40, 2),
        ("unit", "sum", "o", 40, 2),
        ("sum", "@m_axi", "memory", 64, 1),
        ("sum", "@m_axis", "axis", 64, 1),
    }


def test_signals_join_what_no_stream_does(demo):
    signals = {(k.source, k.sink): k.bits for k in structure(demo).links if not k.is_stream}
    assert signals == {
        ("registers", "unit"): 16,
        ("registers", "sum"): 2,
        ("sum", "registers"): 8,
    }


def test_ports_are_without_plain_signals(demo):
    assert [port.name for port in structure(demo).ports] == ["s_axil", "words", "m_axi", "m_axis"]
