import pytest
from jinja2 import UndefinedError

from gen.base.errors import UserError
from gen.board.templates import environment


def test_values_are_quoted_and_unknown_ones_are_errors(tmp_path):
    (tmp_path / "x").write_text("{# no #}\n{% for p in ports %}\n{{ p | tcl }}\n{% endfor %}\n")
    template = environment(tmp_path).get_template("x")
    assert template.render(ports=["a", "b[0]"]) == "a\n{b[0]}\n"
    with pytest.raises(UndefinedError):
        template.render()


def test_a_card_whose_templates_are_not_there(tmp_path):
    with pytest.raises(UserError, match="run from a checkout"):
        environment(tmp_path / "nothing")
