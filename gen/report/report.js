"use strict";
// Plots: figures that are given whole, and those of sweeps, whose axes the reader chooses.
plotlyReady.then(() => {
  const PALETTE = ["#3b7dc4", "#e0862b", "#2f9e6e", "#c65bb0", "#8d7ae6",
    "#c9a400", "#d8513f", "#35a7b8", "#8a6d4b", "#7f8c99"];
  const LISTED = 60; // values of a setting that a drop-down offers
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]] };
  const redraws = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const shown = (value) => typeof value !== "number" ? String(value)
    : Number.isInteger(value) ? value.toLocaleString("en")
      : Number(value.toPrecision(5)).toLocaleString("en", { maximumFractionDigits: 12 });
  const axis = (title, more) => ({
    title: { text: escape(title) }, automargin: true, exponentformat: "SI", gridcolor: colour("--line"),
    linecolor: colour("--line"), zerolinecolor: colour("--line"), ...more,
  });

  // An axis of one value begins at 0: plotly would show its last digits alone.
  const single = (data, key) => new Set(data.flatMap((trace) => trace[key] ?? []).filter(Number.isFinite)).size === 1
    ? { rangemode: "tozero" } : {};

  const draw = (plot, data, layout) => {
    const themed = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", colorway: PALETTE,
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 },
      margin: { l: 55, r: 20, t: 40, b: 45 }, showlegend: data.length > 1,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"),
        font: { color: colour("--ink") }, align: "left" },
      ...layout,
      xaxis: axis("", { ...single(data, "x"), ...layout.xaxis }),
      yaxis: axis("", { ...single(data, "y"), ...layout.yaxis }),
    };
    Plotly.react(plot, data, themed, CONFIG);
  };

  const note = (plot, text) => draw(plot, [], {
    xaxis: { visible: false }, yaxis: { visible: false },
    annotations: [{ text, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }],
  });

  // A labelled drop-down; options are [value, text].
  const select = (parent, name, options, chosen, changed) => {
    const label = document.createElement("label");
    const box = document.createElement("select");
    for (const [value, text] of options) box.add(new Option(text, value, false, value === chosen));
    box.addEventListener("change", changed);
    label.append(name + " ", box);
    parent.append(label);
    return box;
  };

  // Drop-downs that hold what a plot has no axis for at one value.
  class Held {
    constructor(sweep, controls, redraw) {
      Object.assign(this, { sweep, redraw, boxes: new Map(), chosen: new Map() });
      this.place = document.createElement("div");
      controls.append(this.place);
    }
    // Drop-downs for all settings but those of `axes`, and the points that agree with them.
    points(axes) {
      const held = this.sweep.settings.filter(({ name, values }) => !axes.includes(name) && values.length <= LISTED);
      const names = held.map((setting) => setting.name).join("\n");
      if (names !== this.names) {
        this.names = names;
        this.place.replaceChildren();
        this.boxes.clear();
        for (const { name, values } of held) {
          const options = [["", "all"], ...values.map((value, index) => [String(index), shown(value)])];
          const chosen = this.chosen.get(name) ?? (this.sweep.grid ? String(values.length - 1) : "");
          const changed = () => { this.chosen.set(name, box.value); this.redraw(); };
          const box = select(this.place, name, options, chosen, changed);
          this.boxes.set(name, box);
        }
      }
      return this.sweep.points.filter((point) => held.every(({ name, values }) => {
        const box = this.boxes.get(name);
        return box.value === "" || point.settings[name] === values[Number(box.value)];
      }));
    }
  }

  const hover = (sweep, point, metrics) => [
    ...Object.entries(point.settings),
    ...metrics.map((name) => [name, point.metrics[name]]),
  ].filter((pair) => pair[1] != null).map(([name, value]) => `${escape(name)} = ${escape(shown(value))}`).join("<br>");

  const pairs = (names) => names.map((name) => [name, name]);
  const namesOf = (sweep, test = () => true) => sweep.settings.filter(test).map((setting) => setting.name);
  const valuesOf = (sweep, name) => sweep.settings.find((setting) => setting.name === name)?.values ?? [];

  const axisOfSetting = (sweep, name) => {
    const values = valuesOf(sweep, name);
    const few = values.length <= 12 ? { tickvals: values, ticktext: values.map(shown) } : {};
    const wide = values.every((v) => v > 0) && values.at(-1) >= 8 * values[0];
    return axis(name, { ...few, type: wide ? "log" : "linear", ...(wide && few.tickvals ? { minor: {} } : {}) });
  };

  const curves = (sweep, controls, plot) => {
    const redraw = () => {
      const axes = [x.value, lines.value].filter(Boolean);
      const points = held.points(axes).filter((p) => p.metrics[y.value] != null && p.settings[x.value] != null);
      if (!points.length) return note(plot, "no finished point here");
      const groups = new Map();
      const apart = sweep.grid ? namesOf(sweep).filter((name) => name !== x.value) : [lines.value];
      for (const point of points) {
        const key = JSON.stringify(apart.map((name) => point.settings[name]));
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(point);
      }
      const order = valuesOf(sweep, lines.value);
      const named = new Set();
      const traces = [...groups.values()].map((group) => {
        group.sort((a, b) => a.settings[x.value] - b.settings[x.value]);
        const value = group[0].settings[lines.value];
        const name = lines.value ? `${lines.value} ${shown(value)}` : y.value;
        const trace = {
          x: group.map((p) => p.settings[x.value]), y: group.map((p) => p.metrics[y.value]),
          text: group.map((p) => hover(sweep, p, [y.value])), hovertemplate: "%{text}<extra></extra>",
          mode: sweep.grid ? "lines+markers" : "markers", name, legendgroup: name,
          showlegend: !named.has(name), rank: order.indexOf(value),
          marker: { color: PALETTE[Math.max(0, order.indexOf(value)) % PALETTE.length] },
        };
        named.add(name);
        return trace;
      }).sort((a, b) => a.rank - b.rank).map(({ rank, ...trace }) => trace);
      draw(plot, traces, {
        showlegend: named.size > 1, xaxis: axisOfSetting(sweep, x.value),
        yaxis: axis(y.value, scale.value === "log" ? { type: "log" } : { rangemode: "tozero" }),
      });
    };
    const numeric = namesOf(sweep, (setting) => setting.numeric);
    const x = select(controls, "across", pairs(numeric), sweep.axes.x, redraw);
    const y = select(controls, "up", pairs(sweep.metrics), sweep.axes.y, redraw);
    const lines = select(controls, "a line for each", [["", "(none)"], ...pairs(namesOf(sweep))], sweep.axes.lines, redraw);
    const scale = select(controls, "scale", [["", "linear"], ["log", "log"]], "", redraw);
    const held = new Held(sweep, controls, redraw);
    return redraw;
  };

  const heat = (sweep, controls, plot) => {
    const redraw = () => {
      const points = held.points([x.value, y.value]).filter((point) => point.metrics[z.value] != null);
      if (!points.length || x.value === y.value) {
        return note(plot, points.length ? "choose two different axes" : "no finished point here");
      }
      const [across, up] = [valuesOf(sweep, x.value), valuesOf(sweep, y.value)];
      const cells = up.map((v) => across.map((u) => points
        .filter((point) => point.settings[x.value] === u && point.settings[y.value] === v)));
      const mean = (cell) => cell.length ? cell.reduce((sum, p) => sum + p.metrics[z.value], 0) / cell.length : null;
      const told = (cell) => cell.length === 1 ? hover(sweep, cell[0], [z.value])
        : cell.length ? `mean of ${cell.length}: ${shown(mean(cell))}` : "no finished point";
      const small = across.length <= 10 && up.length <= 16;
      draw(plot, [{
        type: "heatmap", x: across.map(shown), y: up.map(shown), z: cells.map((row) => row.map(mean)),
        text: cells.map((row) => row.map(told)), hovertemplate: "%{text}<extra></extra>",
        colorscale: "Viridis", hoverongaps: false, xgap: 1, ygap: 1,
        colorbar: { title: { text: escape(z.value), side: "right" }, thickness: 14, outlinewidth: 0 },
        ...(small ? { textfont: { size: 11 }, texttemplate: "%{z:.3~s}" } : {}),
      }], {
        xaxis: axis(x.value, { type: "category", showgrid: false }),
        yaxis: axis(y.value, { type: "category", showgrid: false }), margin: { l: 55, r: 10, t: 30, b: 45 },
      });
    };
    const second = sweep.axes.lines ?? namesOf(sweep).find((name) => name !== sweep.axes.x);
    const x = select(controls, "across", pairs(namesOf(sweep)), sweep.axes.x, redraw);
    const y = select(controls, "up", pairs(namesOf(sweep)), second, redraw);
    const z = select(controls, "colour", pairs(sweep.metrics), sweep.axes.y, redraw);
    const held = new Held(sweep, controls, redraw);
    return redraw;
  };

  // The points that no other is better than in one figure and at least as good in the other.
  const front = (points, x, y, signs) => {
    const sorted = [...points].sort((a, b) => signs[0] * (a.metrics[x] - b.metrics[x]) || signs[1] * (a.metrics[y] - b.metrics[y]));
    let best = Infinity;
    return sorted.filter((point) => {
      const cost = signs[1] * point.metrics[y];
      if (cost >= best) return false;
      best = cost;
      return true;
    });
  };

  const fits = (point) => point.metrics.fits !== 0 && !(point.metrics.fill > 1);

  const pareto = (sweep, controls, plot) => {
    const better = [["less", "less is better"], ["more", "more is better"]];
    const redraw = () => {
      const points = sweep.points.filter((p) => p.metrics[x.value] != null && p.metrics[y.value] != null);
      if (!points.length || x.value === y.value) {
        return note(plot, points.length ? "choose two different metrics" : "no finished point here");
      }
      const signs = [xPath, yPath].map((box) => box.value === "less" ? 1 : -1);
      const able = points.filter(fits);
      const best = front(able, x.value, y.value, signs);
      const onFront = new Set(best);
      const trace = (name, some, more) => ({
        name, x: some.map((p) => p.metrics[x.value]), y: some.map((p) => p.metrics[y.value]),
        text: some.map((p) => hover(sweep, p, sweep.asked.slice(0, 16))), hovertemplate: "%{text}<extra></extra>", ...more,
      });
      draw(plot, [
        trace("does not fit the card", points.filter((p) => !fits(p)), { mode: "markers", marker: { color: PALETTE[6], size: 8, symbol: "x-thin", line: { width: 2, color: PALETTE[6] } } }),
        trace("points", able.filter((p) => !onFront.has(p)), { mode: "markers", marker: { color: colour("--soft"), size: 7, opacity: 0.6 } }),
        trace("Pareto front", best, { mode: "lines+markers", line: { color: PALETTE[1], width: 1.5, dash: "dot" }, marker: { size: 9 } }),
      ].filter((each) => each.x.length), { xaxis: axis(x.value), yaxis: axis(y.value) });
    };
    const follow = (metric, way) => () => { way.value = sweep.more.includes(metric.value) ? "more" : "less"; redraw(); };
    const x = select(controls, "across", pairs(sweep.metrics), sweep.axes.cost, () => follow(x, xPath)());
    const xPath = select(controls, "", better, sweep.more.includes(x.value) ? "more" : "less", redraw);
    const y = select(controls, "up", pairs(sweep.metrics), sweep.axes.gain, () => follow(y, yPath)());
    const yPath = select(controls, "", better, sweep.more.includes(y.value) ? "more" : "less", redraw);
    return redraw;
  };

  // One object a point, from one list a name.
  const pointsOf = ({ count, settings, metrics }) => {
    const at = (lists, index) => Object.fromEntries(Object.keys(lists).map((name) => [name, lists[name][index]]));
    return Array.from({ length: count }, (_, k) => ({ settings: at(settings, k), metrics: at(metrics, k) }));
  };

  const KINDS = { curves, heat, pareto };
  for (const data of document.querySelectorAll("script.sweep")) {
    const sweep = JSON.parse(data.textContent);
    sweep.points = pointsOf(sweep.points);
    for (const panel of data.parentElement.querySelectorAll("[data-kind]")) {
      const [controls, plot] = [panel.querySelector(".controls"), panel.querySelector(".plot")];
      redraws.push(KINDS[panel.dataset.kind](sweep, controls, plot));
    }
  }
  for (const data of document.querySelectorAll("script.figure")) {
    const figure = JSON.parse(data.textContent);
    redraws.push(() => draw(data.previousElementSibling, figure.data, figure.layout));
  }
  const all = () => redraws.forEach((redraw) => redraw());
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", all);
  all();
});
