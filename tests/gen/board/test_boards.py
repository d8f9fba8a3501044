from dataclasses import replace

import pytest
from jinja2 import UndefinedError

from gen.base.errors import UserError
from gen.base.settings import make_params
from gen.board.boards import BOARDS, BoardDesign, find_board
from gen.board.templates import environment
from gen.designs.catalogue import designs
from gen.designs.design import Card, Most, load
from tests.gen.board.sample import DESIGN, CoreParams, SampleBoard

#: designs that no card's top holds by themselves: their engine is one of network-switch
NOWHERE = {"allreduce-switch"}


def test_every_design_has_a_top_or_stands_in_one_that_has():
    for board in BOARDS.values():
        assert not NOWHERE & {*board.designs}
        for name, design in designs().items():
            if name in NOWHERE:
                continue
            assert (name in board.designs) != (design.within in board.designs)
        assert board.constraints.is_dir()


def test_boards_and_designs_that_are_not_there():
    with pytest.raises(UserError, match="no board 'u28'; did you mean u280"):
        find_board("u28")
    with pytest.raises(UserError, match=r"p4sgd-engine alone has no top.*use p4sgd-worker"):
        find_board("u280").find("p4sgd-engine")


@pytest.mark.parametrize("name", sorted(BOARDS["u280"].designs))
def test_presets_of_the_card_make_parameters(name):
    entry = find_board("u280").find(name)
    for preset in {*entry.card.presets, *entry.design.presets, entry.preset}:
        make_params(entry.design.params_class, entry.settings_of(preset))
    with pytest.raises(UserError, match="did you mean u280"):
        entry.settings_of("u281")


def test_the_snic_of_the_card_reads_its_host_by_the_faster_path():
    entry = find_board("u280").find("netsparse-snic")
    assert entry.settings_of(entry.preset)["host_bus"] == "pcie"
    assert "host_bus" not in entry.design.presets["u280"]  # alone it is for any bus


def test_presets_of_the_card_come_on_top():
    entry = find_board("u280").find("p4sgd-worker")
    assert entry.settings_of("u280") == {
        **entry.design.settings_of("u280"),
        "slrs": 3,
        "address_bits": 29,
    }
    assert entry.settings_of("tiny") == entry.design.settings_of("tiny")


def test_what_the_card_has_no_room_for():
    entry = find_board("u280").find("p4sgd-switch")
    params = make_params(entry.design.params_class, entry.settings_of("8-port"))
    with pytest.raises(UserError, match=r"ports can be at most 2, not 8: .* two QSFP28 cages"):
        entry.make(params)


def test_a_core_has_the_clock_that_is_chosen():
    entry = find_board("u280").find("p4sgd-switch", 300.0)
    top = entry.make(make_params(entry.design.params_class, entry.settings_of("tiny")))
    assert {clock.name: clock.mhz for clock in top.clocks}["sync"] == 300
    with pytest.raises(UserError, match=r"core_mhz must be 800, .*: 301"):
        replace(entry, core_mhz=301.0).make(top.params)


def test_a_core_in_the_clock_of_pci_express_has_no_other():
    entry = find_board("u280").find("gather-engine", 300.0)
    params = make_params(entry.design.params_class, entry.settings_of("tiny"))
    with pytest.raises(UserError, match="core_mhz must be 250, as the core has PCI"):
        entry.make(params)


def test_the_sample_is_built():
    path = "tests.gen.board.sample:SampleBoard"
    card = Card(component=path, preset="", most={"engines": Most(value=2, because="so")})
    entry = BoardDesign(DESIGN, card)
    top = entry.make(CoreParams(engines=2))
    assert isinstance(top, SampleBoard)
    assert load(path) is SampleBoard


def test_values_are_quoted_and_unknown_ones_are_errors(tmp_path):
    (tmp_path / "x").write_text("{# no #}\n{% for p in ports %}\n{{ p | tcl }}\n{% endfor %}\n")
    template = environment(tmp_path).get_template("x")
    assert template.render(ports=["a", "b[0]"]) == "a\n{b[0]}\n"
    with pytest.raises(UndefinedError):
        template.render()


def test_a_card_whose_templates_are_not_there(tmp_path):
    with pytest.raises(UserError, match="run from a checkout"):
        environment(tmp_path / "nothing")
