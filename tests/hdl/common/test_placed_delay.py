import pytest

from gen.emit import emit
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams


@pytest.mark.parametrize("name", ["payload", "sent", "left"])
def test_chains_are_no_shift_registers(name):
    """Every register by its name, marked, in the text that goes to synthesis."""
    verilog = emit(StreamPipeline(StreamPipelineParams(width=5, stages=3))).verilog
    bits = "[4:0] " if name == "payload" else ""
    for step in (1, 2, 3):
        marked = f'(* shreg_extract = "no" *)\n  reg {bits}{name}_{step}'
        assert marked in verilog


def test_only_data_is_not_reset():
    verilog = emit(StreamPipeline(StreamPipelineParams(width=5, stages=3))).verilog
    assert "payload_2 <= payload_1;" in verilog
    for name in ("sent", "left"):  # their next values come from a block that looks at rst
        assert f"{name}_2 <=" in verilog
        assert f"{name}_2 <= {name}_1;" not in verilog
