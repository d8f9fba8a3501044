"""Trains digits on the RTL, as the command does by default."""

import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.switchgnn.gcn.session import GcnSession
from sim.switchgnn.gcn.workload import GcnWorkload
from sim.switchgnn.planning.preparation import PLANS

BAD = {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3, "corrupt": 0.03}


def done(folder, **settings):
    item = GcnSession(GnnSwitchParams(**PRESETS["small"]), GcnWorkload(**settings))
    result = item.run(item.build(item.hardware(item.params, item.requested)), folder)
    assert (result.exact, result.difference) == (True, "")
    assert result.figures["cycles"] > 0
    return item, result.figures


@pytest.mark.long
def test_weights_are_those_of_one_worker_and_distinguish_digits(tmp_path):
    _, figures = done(tmp_path)
    assert figures["switch_test_accuracy"] >= 0.955
    assert figures["switch_test_accuracy"] >= figures["plain_test_accuracy"] + 0.03
    assert figures["repeats"] == 0


@pytest.mark.long
@pytest.mark.parametrize("plan", PLANS)
def test_every_layer_is_exact_on_bad_links(plan, tmp_path):
    item, figures = done(tmp_path, plan=plan, epochs=2, open_turns=2, **BAD)
    assert item.comparison is not None
    assert [each.aggregations for each in item.comparison.switch.aggregators] == [2 * 4 + 2]
    assert figures["repeats"] > 0
