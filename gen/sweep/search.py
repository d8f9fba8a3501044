"""Chooses the points that a search tries next: Optuna's TPE, on what the store knows of the past.

The store is all that a search remembers. Equal histories ask for equal points, so that a search
that was stopped goes on as if it had not been.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from gen.base.errors import UserError
from gen.base.settings import convert
from gen.packages import require
from gen.sweep.front import Constraint, Objective, objectives
from gen.sweep.plan import Plan, Point, joined
from gen.sweep.setting import Setting, check_once, plain
from gen.sweep.spec import Range, Search, Spec, flat
from gen.sweep.store import PointRow, Store, Value

IN_VAIN = 60  #: points in a row that are known or illegal before the search ends


class SearchPlan(Plan):
    """Extends a plan by a search: the space of points, the objectives and the constraints."""

    def __init__(self, spec: Spec) -> None:
        self.search = spec.search or Search.model_validate({})
        super().__init__(spec)
        own = self.axes_of(self.search.ranges)
        if own:
            self.grid, self.zips = {}, []
        parts = self.varied_by("[search.ranges]", own)
        check_once([("[set]", [self.find(name) for name, _ in flat(spec.set)]), *parts])
        self.space = own or self.grid or self.ranges
        if not (self.space or self.zips):
            parts = "[search.ranges], [grid], [[zip]] or [random.ranges]"
            raise UserError(f"nothing to search: give {parts}")
        self.distributions = {s.name: distribution(s, axis) for s, axis in self.space.items()}
        for name, rows in self.rows.items():
            self.distributions[name] = categorical(len(rows))

    @property
    def rows(self) -> dict[str, list[dict[Setting, Any]]]:
        """Return the rows of each table of [[zip]], under a name that no setting has."""
        return {f"[[zip]] {number}": rows for number, rows in enumerate(self.zips)}

    @property
    def varied(self) -> list[Setting]:
        """Return the settings that differ from point to point."""
        zipped = [setting for rows in self.zips for setting in rows[0]]
        return [*self.space, *zipped, *self.derived]

    @property
    def aims(self) -> list[Objective]:
        """Return the objectives: those of the specification, or the usual ones."""
        if self.search.maximise or self.search.minimise:
            return objectives(self.search.maximise, self.search.minimise)
        return objectives(self.subject.maximise, ["luts"])

    @property
    def bounds(self) -> list[Constraint]:
        """Return the constraints that must hold."""
        return [Constraint.parse(text) for text in self.search.constraints]

    def metrics(self) -> list[str]:
        """Return the metrics that are shown, and those that decide."""
        needed = [item.metric for item in (*self.aims, *self.bounds)]
        return list(dict.fromkeys([*self.spec.metrics, *needed]))

    def ask(self, store: Store, count: int) -> list[tuple[Point, dict[str, Value]]]:
        """Return the next points to try, known ones perhaps among them, and how each was drawn."""
        history = store.trials()
        study = self.study(len(history))
        for key, provided in history:
            study.add_trial(self.trial(store.find(key), provided))
        requested = []
        for _ in range(count):
            drawn = study.ask(self.distributions).params
            requested.append((self.at(drawn), drawn))
        return requested

    def at(self, drawn: Mapping[str, Any]) -> Point:
        """Return the point of the values that were drawn."""
        parts = [rows[drawn[name]] for name, rows in self.rows.items()]
        return self.point(joined([{s: self.value(s, drawn[s.name]) for s in self.space}, *parts]))

    def study(self, number: int) -> Any:
        """Make a study without trials, whose draws depend on the seed and on ``number``."""
        optuna = load_optuna()
        sampler = optuna.samplers.TPESampler(
            seed=(self.search.seed * 1_000_003 + number) % (1 << 32), multivariate=True
        )
        directions = ["minimize"] * len(self.aims)
        return optuna.create_study(sampler=sampler, directions=directions)

    def value(self, setting: Setting, drawn: Any) -> Any:
        """Convert what was drawn to a value; for a list of values, the index was drawn."""
        axis = self.space[setting]
        return convert(setting.parameter, drawn) if isinstance(axis, Range) else axis[drawn]

    def trial(self, row: PointRow | None, drawn: Mapping[str, Value]) -> Any:
        """Return a point that has been tried, as Optuna's trial."""
        optuna = load_optuna()
        known: dict[str, Any] = {"params": dict(drawn), "distributions": self.distributions}
        if row is None or not self.judged(row):
            return optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL, **known)
        return optuna.trial.create_trial(
            values=[aim.loss(row.metrics) for aim in self.aims],
            constraints={
                f"{number} {bound.metric}": bound.excess(row.metrics)
                for number, bound in enumerate(self.bounds)
            },
            **known,
        )

    def judged(self, row: PointRow) -> bool:
        """Return whether a point has all metrics that decide."""
        needed = {item.metric for item in (*self.aims, *self.bounds)}
        return row.status == "done" and needed <= row.metrics.keys()


def distribution(setting: Setting, axis: Sequence[Any] | Range) -> Any:
    """Return an axis as Optuna's distribution; a list becomes indices, ordered if of numbers."""
    distributions = load_optuna().distributions
    if not isinstance(axis, Range):
        ordered = all(isinstance(plain(value), int | float) for value in axis)
        if ordered and not any(isinstance(value, bool) for value in axis):
            return distributions.IntDistribution(0, len(axis) - 1)
        return categorical(len(axis))
    try:
        if axis.whole:
            return distributions.IntDistribution(
                axis.start, axis.to, log=axis.log, step=axis.step or 1
            )
        return distributions.FloatDistribution(axis.start, axis.to, log=axis.log, step=axis.step)
    except ValueError as error:
        raise UserError(f"{setting.name}: {error}") from error


def categorical(count: int) -> Any:
    """Return the distribution of an index of ``count`` things that have no order."""
    return load_optuna().distributions.CategoricalDistribution(list(range(count)))


def load_optuna() -> Any:
    """Import optuna, with its log silenced; raise UserError if it is not installed."""
    require("sweep --search", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", module="optuna")
    return optuna
