"""Tests JSON inside of HTML."""

import json
import math

from gen.report.figures import embedded, figure, numbers_only


def test_json_cannot_end_its_element():
    text = embedded({"a": "</script><!-- & -->"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & -->"}


def test_what_is_no_number_is_null():
    assert numbers_only([math.nan, {"a": math.inf}, 1.5, "x"]) == [None, {"a": None}, 1.5, "x"]


def test_a_figure_has_its_place_and_its_data():
    html = figure([{"y": [1]}], {"xaxis": {}}, height=9)
    place, _, data = html.partition("</div>")
    assert 'class="plot" style="height:9rem"' in place
    content = data.partition(">")[2].removesuffix("</script>")
    assert json.loads(content) == {"data": [{"y": [1]}], "layout": {"xaxis": {}}}
