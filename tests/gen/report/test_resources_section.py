"""Shows resources on the page: shares of the card, bars of modules."""

import json
import re

import pytest

from gen.report.resources_section import MODULES, resources_section, uses
from gen.synth.device import FILL
from tests.gen.report import sample


def test_shares_of_the_card():
    lut, ff, *_, dsp = uses(sample.estimate())
    assert (lut.name, lut.offered, lut.shell, lut.design) == ("LUT", 2000, 200, 750)
    assert (lut.shell_share, lut.share, lut.limit) == (10, 37.5, FILL["luts"])
    assert not lut.too_much
    assert (ff.offered, ff.shell) == (4000, 100)
    assert dsp.share == 12


@pytest.mark.parametrize(("luts", "too_much"), [(1200, False), (1220, True)])
def test_a_limit_that_is_exceeded(luts, too_much):
    use = uses(sample.estimate(total=sample.resources(luts=luts)))[0]
    assert use.too_much is too_much


def test_bars_by_module():
    html = resources_section([("engine.json", sample.estimate(modules=12))]).html
    figure = json.loads(re.search(r'class="figure">(.*?)</script>', html).group(1))
    names = [trace["name"] for trace in figure["data"]]
    assert len(names) == MODULES + 1
    assert names[0] == "part_11 x 12"
    assert names[-1] == "4 others"
    assert figure["data"][0]["x"][0] == pytest.approx(100 * 110 * 12 / 2000)
    total = sum(trace["x"][0] for trace in figure["data"])
    assert total == pytest.approx(100 * sum(10 * k * (k + 1) for k in range(12)) / 2000)


def test_what_does_not_fit():
    content = sample.estimate(fits=False, lacks=["luts: 5 too many"])
    html = resources_section([("engine.json", content)]).html
    assert "Does not fit u280: luts: 5 too many." in html
    fitting = resources_section([("engine.json", sample.estimate())]).html
    assert "Fits u280" in fitting
