import pytest
from jinja2 import UndefinedError

from gen.base.templates import environment, render


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.j2").write_text("{% if yes %}\n<{{ text }}>\n{% endif %}\n")
    return tmp_path


@pytest.mark.parametrize(("html", "text"), [(False, "<a&b>\n"), (True, "<a&amp;b>\n")])
def test_only_html_is_escaped(folder, html, text):
    template = environment(folder, html=html).get_template("a.j2")
    assert template.render(yes=True, text="a&b") == text


def test_what_is_not_provided_is_an_error(folder):
    with pytest.raises(UndefinedError, match="yes"):
        render(folder, "a.j2", text="a")
