import pytest

from gen.board.boards import BOARDS, BoardDesign, Most, find_board
from gen.catalogue import DESIGNS, load
from gen.errors import UserError
from gen.settings import make_params
from tests.gen.board.sample import CoreParams, SampleBoard


def test_every_design_of_the_catalogue_has_a_top_or_a_reason():
    for board in BOARDS.values():
        assert {*board.designs, *board.instead} == set(DESIGNS)
        assert not set(board.designs) & set(board.instead)
        assert set(board.instead.values()) <= set(board.designs)
        assert board.constraints.is_dir()


def test_boards_and_designs_that_are_not_there():
    with pytest.raises(UserError, match="no board 'u28'; did you mean u280"):
        find_board("u28")
    with pytest.raises(UserError, match=r"p4sgd-engine alone has no top.*use p4sgd-worker"):
        find_board("u280").find("p4sgd-engine")


@pytest.mark.parametrize("name", sorted(BOARDS["u280"].designs))
def test_presets_of_the_card_make_parameters(name):
    entry = find_board("u280").find(name)
    for preset in {*entry.presets, *entry.design.presets, entry.preset}:
        make_params(entry.design.params_class, entry.settings_of(preset))
    with pytest.raises(UserError, match="did you mean u280"):
        entry.settings_of("u281")


def test_presets_of_the_card_come_on_top():
    entry = find_board("u280").find("p4sgd-worker")
    assert entry.settings_of("u280") == {**entry.design.settings_of("u280"), "slrs": 3}
    assert entry.settings_of("tiny") == entry.design.settings_of("tiny")


def test_what_the_card_has_no_room_for():
    entry = find_board("u280").find("p4sgd-switch")
    params = make_params(entry.design.params_class, entry.settings_of("8-port"))
    with pytest.raises(UserError, match=r"ports can be at most 2, not 8: .* two QSFP28 cages"):
        entry.make(params)


def test_the_sample_is_made():
    path = "tests.gen.board.sample:SampleBoard"
    entry = BoardDesign(
        name="sample", component=path, preset="", most={"engines": Most(value=2, because="so")}
    )
    top = entry.make(CoreParams(engines=2))
    assert isinstance(top, SampleBoard)
    assert load(path) is SampleBoard
