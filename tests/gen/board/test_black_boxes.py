from gen.board.black_boxes import black_box, with_boxes
from tests.gen.board.sample import MAC


def test_ip_is_a_black_box_where_it_is_placed(emission):
    boxed = with_boxes(emission)
    assert list(boxed.modules) == list(emission.modules)
    assert boxed.modules["core"].rtlil == emission.modules["core"].rtlil
    text = boxed.modules["sample_board"].rtlil
    assert text.startswith("attribute \\blackbox 1\nmodule \\clocking\n")
    assert black_box(MAC) in text
    assert "  wire width 4 output 1 \\gt_txp_out\n" in black_box(MAC)
