"""Reports a training run: curves of loss and accuracy, as numbers and as a picture."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.common.core_clock import CORE_MHZ
from sim.golden.choices import Loss
from sim.harness.picture import over_epochs, picture
from sim.p4sgd.golden.sgd import Saturations
from sim.p4sgd.reference import Reference
from sim.p4sgd.train import Epoch
from sim.p4sgd.training import TrainingRun

FAR = 1.5  #: how far above the curves a reference may be that is drawn


@dataclass(frozen=True)
class Row:
    """Describes an epoch: the RTL's own weights beside the golden model's and float64's.

    Losses and accuracies are those of the training samples unless they say ``test``. There is no
    accuracy with linear loss, and without held out samples nothing of a test.
    """

    epoch: int
    rtl_loss: float
    rtl_accuracy: float | None
    golden_loss: float
    golden_accuracy: float | None
    float_loss: float
    float_accuracy: float | None
    rtl_test_loss: float | None
    rtl_test_accuracy: float | None
    golden_test_loss: float | None
    golden_test_accuracy: float | None
    float_test_loss: float | None
    float_test_accuracy: float | None
    bit_exact: bool  #: weights and saturation counts equal the golden model's
    counters: dict[str, int]
    network: dict[str, int]  #: numbers of packets on the links


class Comparison:
    """Follows a run: every epoch of the RTL, the golden model and float64 side by side."""

    def __init__(self, training: TrainingRun) -> None:
        self.training = training
        self.rows: list[Row] = []
        self.golden = np.zeros(training.shape, dtype=np.int64)
        self.float = np.zeros(training.shape)
        self.last: Epoch | None = None
        self.kept: Epoch | None = None  #: whose weights are the result
        self.reference: Reference | None = None  #: fitted when the run has ended

    def add(self, epoch: Epoch) -> Row:
        """Train the models one epoch further and compare."""
        training = self.training
        self.golden, saturations = training.golden(self.golden, epoch.number)
        self.float = training.float_epoch(self.float, epoch.number)
        self.last = epoch
        rtl, golden = training.original(epoch.weights), training.original(self.golden)
        double = self.float / training.quantiser.scale
        row = Row(
            epoch.number,
            *training.evaluate(rtl),
            *training.evaluate(golden),
            *training.evaluate(double),
            *training.evaluate_test(rtl),
            *training.evaluate_test(golden),
            *training.evaluate_test(double),
            bit_exact=bool((epoch.weights == self.golden).all())
            and saturations_agree(epoch.counters, saturations),
            counters=dict(epoch.counters),
            network=dict(epoch.network),
        )
        self.rows.append(row)
        if not (training.requested.patience and self.kept) or self.is_better(row):
            self.kept = epoch
        return row

    def is_better(self, row: Row) -> bool:
        """Return whether an epoch has a lower test loss than the one that is kept."""
        loss, least = row.rtl_test_loss, self.kept_row.rtl_test_loss
        return loss is not None and least is not None and loss < least

    @property
    def kept_row(self) -> Row:
        """Return the row of the epoch whose weights are kept."""
        assert self.kept is not None
        return self.rows[self.kept.number - 1]

    def enough(self) -> bool:
        """Return whether the loss of the test samples has not fallen for as long as is allowed."""
        patience = self.training.requested.patience
        return bool(patience) and len(self.rows) - self.kept_row.epoch >= patience

    @property
    def difference(self) -> str:
        """Return the first epoch that was not bit-exact, in a line; nothing if all were."""
        wrong = "after epoch {}, weights or saturations differ from the golden model's"
        return next((wrong.format(row.epoch) for row in self.rows if not row.bit_exact), "")

    @property
    def cycles(self) -> int:
        """Return the cycles of all epochs, from the hardware's counter."""
        return sum(row.counters["cycles"] for row in self.rows)

    @property
    def saturations(self) -> int:
        """Return how often a number did not fit, over all epochs."""
        return sum(
            count
            for row in self.rows
            for name, count in row.counters.items()
            if name.endswith("saturations")
        )

    @property
    def warnings(self) -> list[str]:
        """Return why the training failed to learn, a line for each reason."""
        loss, chance, eta = self.kept_row.rtl_loss, self.training.chance, self.training.eta
        suits = self.training.smoothness.learning_rate(self.training.requested.loss)
        hint = f"; --eta {suits:.3g} suits the data, not {eta:.3g}" if eta > suits else ""
        result = []
        if not loss <= chance:
            result.append(f"the loss ends at {loss:.5g}, above the {chance:.5g} of no model{hint}")
        if self.saturations:
            result.append(f"{self.saturations:,} saturations: numbers outgrew 32 bits{hint}")
        return result

    @property
    def larger_class(self) -> dict[str, float | None] | None:
        """Return how often always guessing the larger class is right; None without two classes.

        That is of the training samples and, if there are any, of those of the test.
        """
        data = self.training.data
        if not data.classes or self.training.classes > 1:
            return None
        positive = bool(np.mean(data.labels > 0) > 0.5)
        shares = [
            None if samples is None else float(np.mean((samples.labels > 0) == positive))
            for samples in (data, data.test)
        ]
        return {"positive": positive, "accuracy": shares[0], "test_accuracy": shares[1]}

    @property
    def simulated_per_second(self) -> float:
        """Return the cycles simulated in a second of CPU, host accesses included."""
        return self.last.simulated_cycles / self.last.seconds if self.last else 0

    def details(self) -> dict[str, Any]:
        """Return what JSON says beside the figures: data, step, hardware's cycles, epochs."""
        training, last, test = self.training, self.last, self.training.data.test
        return {
            "data": {
                "name": training.data.name,
                "samples": training.samples,
                "features": training.features,
                "classes": training.data.classes,
                "in_one_pass": training.classes,
                "larger_class": self.larger_class,
                "order": training.data.order,
                "test": test and {"name": test.name, "samples": len(test.labels)},
            },
            "reference": self.reference and self.reference.as_json(),
            "eta": training.eta,
            "step": {
                "mantissa": training.training.step.mantissa,
                "exponent": training.training.step.exponent,
            },
            "signed_features": training.quantiser.signed,
            "cycles": self.cycles,
            "milliseconds": self.cycles / CORE_MHZ / 1e3,
            "clock_mhz": CORE_MHZ,
            "simulated_cycles": last.simulated_cycles if last else 0,
            "simulated_cycles_per_second": self.simulated_per_second,
            "kept_epoch": self.kept_row.epoch,
            "epochs": [asdict(row) | {"eta": training.eta_of(row.epoch)} for row in self.rows],
        }

    def save_weights(self, path: Path) -> None:
        """Save :attr:`weights`."""
        np.savez_compressed(path, **self.weights)

    @property
    def weights(self) -> dict[str, Any]:
        """Return the RTL's weights as they are, and what they are in the units of the data.

        A sample is positive if ``x @ original + intercept > 0``. The weights themselves are for
        ``(x - offset) / scale``. ``has_bias`` says whether the last feature is the constant one
        that was added, ``loss`` is a place in :class:`Loss`, ``classes`` are the labels that are
        negative and positive. Of several classes that were trained in one pass, weights are
        [classes, features], and ``classes`` the labels of all.
        """
        assert self.kept is not None
        requested = self.training.requested
        weights: NDArray[np.int64] = self.kept.weights
        if self.training.classes > 1:  # the hardware may train more than there are
            weights = weights[: len(self.training.data.label_values)]
        quantiser, original = self.training.quantiser, self.training.original(weights)
        return {
            "fixed_point": weights,
            "original": original,
            "intercept": np.array(quantiser.intercept(original)),
            "scale": quantiser.scale,
            "offset": np.broadcast_to(quantiser.offset, weights.shape[-1:]),
            "has_bias": np.array(requested.has_bias),
            "loss": np.array(list(Loss).index(requested.loss)),
            "classes": np.array(self.training.data.label_values),
        }


def saturations_agree(counters: Mapping[str, int], golden: Saturations) -> bool:
    """Return whether the hardware counted what the golden model did, kind by kind."""
    return all(counters[f"{kind}_saturations"] == count for kind, count in asdict(golden).items())


def plot(comparison: Comparison, title: str, path: Path) -> None:
    """Draw loss, and accuracy where there is one, against epochs.

    The reference is a horizontal line unless it is far above the curves. The legend has its level.
    The samples that were held out have a fainter set of the same curves.
    """
    rows, reference = comparison.rows, comparison.reference
    has_accuracy = rows[0].rtl_accuracy is not None
    has_test = rows[0].rtl_test_loss is not None
    epochs = [row.epoch for row in rows]
    styles = {
        "float": ("float64 SGD", {"color": "0.65", "linewidth": 4}),
        "golden": ("golden model", {"color": "tab:blue", "linewidth": 1.5}),
        "rtl": ("RTL", {"color": "tab:orange", "linestyle": "none", "marker": "o", "ms": 4}),
    }
    test = {"linestyle": "--", "marker": "", "linewidth": 1.5}
    with picture(path, title, 1 + has_accuracy) as axes:
        for axis, what in zip(axes, ("loss", "accuracy"), strict=False):
            for source, (label, style) in styles.items():
                axis.plot(
                    epochs, [getattr(row, f"{source}_{what}") for row in rows], label=label, **style
                )
            for source, (label, style) in styles.items() if has_test else ():
                curve = [getattr(row, f"{source}_test_{what}") for row in rows]
                faint = style | ({"ms": 3, "mfc": "none"} if source == "rtl" else test)
                axis.plot(epochs, curve, label=f"{label}, test", **faint)
            top = axis.get_ylim()[1]
            for kind, shade in (("", 1.0), ("test_", 0.45)) if reference else ():
                if (level := getattr(reference, f"{kind}{what}")) is not None:
                    label = f"scikit-learn{', test' * bool(kind)}: {level:.4g}"
                    style = {"color": "tab:green", "ls": ":", "alpha": shade, "label": label}
                    axis.axhline(level, **style) if level <= FAR * top else axis.plot([], **style)
            samples = "training and test" if has_test else "training"
            over_epochs(axis, f"{samples} {what}", len(styles))
