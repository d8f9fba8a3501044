"""Offers Ingather to Python programs, such as notebooks: ``import ingather``.

::

    worker = ingather.design("p4sgd-worker", preset="tiny", lanes=64)
    worker.emit().verilog                             # the Verilog, as text
    worker.generate("build/tiny")                     # the folder of `ingather generate`
    worker.synth().total.luts                         # an estimate for UltraScale+
    worker.simulate("my_tests")                       # the cocotb tests of a module
    run = worker.train(X, y, loss="logistic", epochs=5)
    run.figures["accuracy"], run.weights, run.exact   # from the RTL, against the golden model
    run.estimator().predict(X)                        # scikit-learn's, with these weights

Everything that a user can do wrong raises ``ingather.UserError`` or ``ValueError``, with one line
that says what is legal.
"""

import tempfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gen.base.errors import UserError
from gen.designs.catalogue import designs, find_design
from gen.designs.design import Design, Run

if TYPE_CHECKING:
    from gen.base.emission.emit import Emission
    from gen.commands.generating import Generated
    from gen.synth.synthesis import Synthesis
    from sim.harness import results
    from sim.harness.session import Result, Session

__all__ = ["ChosenDesign", "Done", "UserError", "design", "designs", "load_estimator"]


def load_estimator(path: str | Path) -> Any:
    """Return scikit-learn's estimator of the ``weights.npz`` of a training; see `Done.estimator`.

    ValueError for another file, UserError without scikit-learn.
    """
    from gen.packages import require
    from sim.p4sgd import estimator

    require("load_estimator", "sklearn")
    return estimator.load_estimator(path)


def design(name: str, preset: str = "", **settings: Any) -> "ChosenDesign":
    """Choose the design ``name`` with the parameters of ``preset`` and ``settings`` on top.

    Names of designs, presets and settings are those of ``ingather list --params``. UserError for
    an unknown name or an illegal value.
    """
    chosen = find_design(name)
    preset = preset or chosen.preset
    params = chosen.params_of(preset, **settings)
    return ChosenDesign(chosen, preset, settings, params)


@dataclass(frozen=True)
class ChosenDesign:
    """Holds a design and its parameters, and does with them what the commands do."""

    design: Design
    preset: str
    settings: dict[str, Any]  #: what differs from the preset
    params: Any  #: the dataclass of its parameters

    def __repr__(self) -> str:
        changes = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"<Design {self.design.name}, {self.preset}{changes}: {self.design.about}>"

    def _repr_html_(self) -> str:
        """Return its datasheet, with a block diagram, for a notebook."""
        from gen.datasheet.page import datasheet
        from gen.page.page import framed

        about = {"design": self.design.name, "preset": self.preset, "settings": self.settings}
        return framed(datasheet(self.emit(), **about))

    def component(self) -> Any:
        """Return the Amaranth component, to place in a design of your own."""
        return self.design.make(self.params)

    def emit(self) -> "Emission":
        """Return the Verilog, module by module; ``.verilog`` is all of it in one text."""
        from sim.harness.emissions import emission_of

        return replace(emission_of(self.component(), generated=True), page=self._repr_html_)

    def generate(
        self, folder: str | Path, *, board: str | None = None, strict: bool = False
    ) -> "Generated":
        """Write Verilog, file list, registers, datasheet and manifest into ``folder``.

        With ``board`` ("u280") the top for a card too, its Tcl and constraints, and a floorplan.
        """
        from gen.commands.generating import Order, generate

        order = Order(
            design=self.design,
            board=board,
            preset=self.preset,
            changes=self.settings,
            strict=strict,
        )
        return generate(order, Path(folder))

    def synth(self) -> "Synthesis":
        """Estimate what the design takes of a card; the first time this takes minutes."""
        from gen.synth.synthesis import synthesise
        from sim.harness.cache import cached_folder

        return synthesise(self.emit(), cached_folder)

    def simulate(self, tests: str, *, seed: int = 1, waves: bool = False) -> "results.Run":
        """Run the cocotb tests of the module ``tests``; raise SimulationError if one fails."""
        from sim.harness.verilator import simulate

        return simulate(self.component(), tests, seed=seed, waves=waves)

    def run(
        self,
        command: str = "",
        *,
        on_line: Callable[[str], None] = lambda text: None,
        **workload: Any,
    ) -> "Done":
        """Do what ``ingather COMMAND`` does; without ``command``, the design's first run.

        ``on_line`` gets a line now and then, such as that of an epoch. RunFailed if the hardware
        stops before the end.
        """
        session_class = self.find_run(command).session_class
        requested = session_class.workload(**self.converted(session_class.workload, workload))
        return self.do(session_class(self.needed(session_class, requested), requested), on_line)

    def train(
        self,
        features: Any,
        labels: Any,
        *,
        on_line: Callable[[str], None] = lambda text: None,
        **workload: Any,
    ) -> "Done":
        """Train on arrays of shapes (samples, features) and (samples,).

        ``workload`` are settings of ``ingather train``, such as ``epochs=5`` and ``loss="hinge"``.
        """
        from sim.p4sgd.training import data_of
        from sim.p4sgd.training_workload import TrainingWorkload

        session_class = self.find_run("train").session_class
        if named := sorted({"data", "label"} & set(workload)):
            raise UserError(f"{named[0]} is for files: features and labels are arrays here")
        requested = TrainingWorkload(**self.converted(TrainingWorkload, workload))
        params = self.needed(session_class, requested)
        data = data_of(requested, (features, labels), params.classes)
        session = session_class(params, requested, data)
        return self.do(session, on_line)

    def find_run(self, command: str) -> Run:
        """Return the run of that command, or the design's first; raise UserError if it has none."""
        if not command:
            return self.design.swept()
        runs = {run.command: run for run in self.design.runs if run.command}
        if command not in runs:
            known = ", ".join(runs) or "it has none"
            raise UserError(f"{self.design.name} has no run {command!r}: {known}")
        return runs[command]

    def needed(self, session_class: Any, requested: Any) -> Any:
        """Return the parameters, changed where the workload needs other ones."""
        changes = {**session_class.needs(requested), **self.settings}
        return self.design.params_of(self.preset, **changes)

    def converted(self, workload: type, values: dict[str, Any]) -> dict[str, Any]:
        """Return ``values`` as the fields of ``workload`` take them: "hinge" becomes Loss.HINGE."""
        from gen.base.settings import convert, find_parameter

        return {name: convert(find_parameter(workload, name), v) for name, v in values.items()}

    def do(self, session: "Session", on_line: Callable[[str], None]) -> "Done":
        """Build the simulator and run the session on it; return what came of it."""
        from sim.harness.session import Listener

        class Lines(Listener):
            """Passes a session's lines of progress to ``on_line``."""

            def line(self, text: str) -> None:
                """Pass one line of progress to ``on_line``."""
                on_line(text)

        simulator = session.build(session.hardware(session.params, session.requested))
        with tempfile.TemporaryDirectory(prefix="ingather-run-") as scratch:
            result = session.run(simulator, Path(scratch), Lines())
        return Done(session, result)


@dataclass(frozen=True)
class Done:
    """Holds a run that has ended, with its figures and its weights."""

    session: "Session"
    result: "Result"

    @property
    def figures(self) -> dict[str, float]:
        """Return the figures by name, from the hardware's counters."""
        return dict(self.result.figures)

    @property
    def exact(self) -> bool | None:
        """Return whether all that was compared is equal, bit for bit; None if nothing was."""
        return self.result.exact

    @property
    def weights(self) -> Any:
        """Return the weights [D] of a training, in the units of the data."""
        comparison = self.session.comparison  # pyright: ignore[reportAttributeAccessIssue]
        return comparison.training.original(comparison.kept.weights)

    def estimator(self) -> Any:
        """Return scikit-learn's fitted LogisticRegression, LinearSVC or Ridge with the weights.

        It takes samples as they came, without a constant feature, and predicts labels as they came;
        or 1 for the positive class and 0 for the rest, if there were more than two labels.
        UserError without scikit-learn.
        """
        from gen.packages import require
        from sim.p4sgd.estimator import estimator_of

        require("estimator", "sklearn")
        return estimator_of(self.session.comparison.weights)  # pyright: ignore[reportAttributeAccessIssue]

    def _repr_html_(self) -> str:
        """Return pictures, summary and a table of figures, for a notebook."""
        from gen.page.page import HERE, Section, environment, framed, render

        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in self.save(folder)]
            pictures = [
                b64encode(path.read_bytes()).decode() for path in files if path.suffix == ".png"
            ]
        title, figures = self.session.title, self.figures
        about = dict.fromkeys(figures, "") | {**self.session.calculated, **self.session.counted}
        content = (
            environment(HERE)
            .get_template("done.html.j2")
            .render(title=title, pictures=pictures, summary=str(self), figures=figures, about=about)
        )
        return framed(render(title, [Section("Result", content)]))

    def save(self, folder: str | Path) -> list[str]:
        """Write pictures and data into ``folder``; return the names of the files."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        return list(self.session.write(place))

    def __repr__(self) -> str:
        return f"<Run: {self.session.title}; figures, save(folder), print() for a summary>"

    def __str__(self) -> str:
        return "\n".join([*self.session.summary(self.result), self.result.verdict])
