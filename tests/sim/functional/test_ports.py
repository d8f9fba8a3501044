from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from hdl.common.axi import AxiReadSignature, AxiStreamSignature
from sim.functional.ports import Plain, Stream, watched


def streams(signature):
    return [port for port in watched(signature) if isinstance(port, Stream)]


def plains(signature):
    return [port for port in watched(signature) if isinstance(port, Plain)]


def test_streams_of_arrays_share_a_name():
    result = streams(Signature({"i": In(stream.Signature(8)).array(2)}))
    assert [(port.name, port.valid, port.ready) for port in result] == [
        ("i[]", "i_0_valid", "i_0_ready"),
        ("i[]", "i_1_valid", "i_1_ready"),
    ]
    assert [part.port for part in result[1].parts] == ["i_1_payload"]


def test_what_a_stream_never_does_is_no_port():
    (port,) = streams(Signature({"o": Out(stream.Signature(8, always_ready=True))}))
    assert (port.valid, port.ready) == ("o_valid", None)


def test_channels_of_axi():
    bus = AxiReadSignature(address_bits=16, data_bits=32)
    result = streams(Signature({"m_axi": Out(bus)}))
    assert [(port.name, port.valid, port.ready) for port in result] == [
        ("m_axi.ar", "m_axi_arvalid", "m_axi_arready"),
        ("m_axi.r", "m_axi_rvalid", "m_axi_rready"),
    ]
    assert [part.label for part in result[1].parts] == ["rid", "rdata", "rresp", "rlast"]
    (axis,) = streams(Signature({"axis": In(AxiStreamSignature(data_bits=64))}))
    assert (axis.name, axis.valid) == ("axis", "axis_tvalid")
    assert [part.label for part in axis.parts] == ["tdata", "tkeep", "tlast", "tuser"]


def test_valid_guards_what_goes_its_path():
    result = plains(Signature({"valid": Out(1), "kind": Out(2), "address": In(8)}))
    assert [(port.name, port.valid, port.driven) for port in result] == [
        ("valid", None, True),
        ("kind", "valid", True),
        ("address", None, False),
    ]


def test_who_drives_a_port_of_an_interface():
    inner = Signature({"demands": Out(1), "answers": In(1)})
    result = plains(Signature({"bus": In(inner).array(1)}))
    assert [(port.name, port.driven) for port in result] == [
        ("bus[].demands", False),
        ("bus[].answers", True),
    ]


def test_valid_and_ready_of_one_direction_are_no_stream():
    signature = Signature({"valid": In(1), "ready": In(1), "beat": Out(4)})
    assert not streams(signature)
    assert [port.name for port in plains(signature)] == ["valid", "ready", "beat"]
