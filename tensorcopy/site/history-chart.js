/* The interactive history chart: lines over the releases, reading, comparing. history-data.js has the data and the state.

Every element .history-chart becomes a chart; data-mode decides which controls it has (history-controls.js):
  explorer   all of them; the state is in the fragment of the address
  landing    group, size, grad and unit; a link leads to the same state in the explorer
  case       unit and scale: the chart of one case
*/
"use strict";

(() => {
  const { STATE, TIME_UNITS, text: format } = tensorHistory;
  const { FIELDS, PHONE, Controls, drawing, element, label, order, swatch, wordOf, words } = historyControls;
  const PLACE_FIELDS = ["group", "numel", "grad", "dtype", "layout", "device", "timed", "threads"];
  const COLOURS = 5;
  const FONT = 12, TALL = 420, LOW = 340;
  const OUTSIDE = 1.5, LEAST_SPREAD = Math.log(1.5); // a value is outside when it lies so many spreads beyond nine tenths of all

  /* ---- colours ---- */

  /** Return the page's colours as the theme has them now. */
  function palette() {
    const probe = element("span", { hidden: true });
    document.body.append(probe);
    const colour = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    const colours = { lines: [1, 2, 3, 4, 5].map((number) => colour(`series-${number}`)) };
    for (const name of ["ink", "quiet", "rule", "sheet", "paper", "accent", "slower", "faster"]) colours[name] = colour(name);
    probe.remove();
    return colours;
  }

  function withAlpha(colour, alpha) {
    return colour.replace(/^rgba?\(([^)]+)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, ${alpha})`);
  }

  /* ---- axes ---- */

  function roundStep(about) {
    const decade = 10 ** Math.floor(Math.log10(about));
    return decade * [1, 2, 5, 10].find((step) => step * decade >= about * 0.999);
  }

  /** Return round values between two, for a linear or a logarithmic axis. */
  function ticks(low, high, logarithmic, most, origin = 0) {
    if (!logarithmic || high / low < 6) {
      const step = roundStep((high - low) / most), values = [];
      for (let value = origin + Math.ceil((low - origin) / step) * step; value <= high * 1.0001; value += step) values.push(value);
      return values;
    }
    const steps = high / low < 200 ? [1, 2, 5] : [1], values = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade++) for (const step of steps) values.push(step * 10 ** decade);
    return values.filter((value) => value >= low && value <= high);
  }

  function tickText(value, unit) {
    const plain = (amount) => String(+amount.toPrecision(3));
    if (unit === "time") return value ? format.duration(value, plain) : "0";
    if (unit === "memcpy") return `${plain(value)}\u202f×`;
    if (unit === "percent") return Math.abs(value - 1) < 1e-9 ? "0" : `${value < 1 ? "−" : "+"}${plain(Math.abs(100 * (value - 1)))}\u202f%`;
    if (/allocated$|peak$/.test(unit)) return format.bytes(value);
    return value >= 1e6 ? `${plain(value / 1e6)} M` : value >= 1e4 ? `${plain(value / 1e3)} k` : plain(value);
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1), below = Math.floor(at);
    return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  }

  /** Return the range of an axis without far outliers. Confirmed changes and the newest value are never outliers. */
  function robustRange(lines, first, last, logarithmic) {
    const logs = [], always = [];
    for (const line of lines) {
      const steps = new Set(line.steps.filter((step) => step.status).map((step) => step.release));
      let newest = null;
      for (let at = first; at <= last; at++) {
        if (!(line.y[at] > 0)) continue;
        logs.push(Math.log(line.y[at]));
        newest = line.y[at];
        if (steps.has(at)) always.push(line.y[at]);
      }
      if (newest) always.push(newest);
    }
    if (!logs.length) return [1, 10];
    logs.sort((a, b) => a - b);
    const from = quantile(logs, 0.05), to = quantile(logs, 0.95), margin = OUTSIDE * Math.max(to - from, LEAST_SPREAD);
    const inside = logs.filter((value) => value >= from - margin && value <= to + margin).map(Math.exp);
    const values = [...inside, ...always];
    for (const line of lines) {
      for (let at = first; at <= last; at++) {
        if (!(line.y[at] > 0)) continue;
        const ends = [line.y[at] * line.low[at], line.y[at] * line.high[at]].filter((end) => Math.log(end) > from - margin / 3 && Math.log(end) < to + margin / 3);
        values.push(...ends);
      }
    }
    const low = Math.min(...values), high = Math.max(...values);
    if (!logarithmic) return [0, high * 1.06];
    const spread = Math.max(high / low, 1.3) ** 0.5 * 1.06, middle = Math.sqrt(low * high);
    return [middle / spread, middle * spread];
  }

  /** Shorten a release where its minor version is alone: "2.10" for 2.10.0. */
  function shortNames(versions) {
    const minor = (version) => version.split(".").slice(0, 2).join(".");
    return versions.map((version) => (versions.filter((other) => minor(other) === minor(version)).length === 1 ? minor(version) : version));
  }

  /* ---- the chart ---- */

  class HistoryChart {
    constructor(host, data) {
      this.host = host;
      this.mode = host.dataset.mode in FIELDS ? host.dataset.mode : "landing";
      this.id = host.dataset.source || "history";
      this.shapes = host.dataset.shapes.split("|");
      this.root = host.dataset.root;
      [this.machine, this.other] = data;
      this.build();
      this.colours = palette();
      this.restore();
      this.watch();
    }

    /* -- building -- */

    build() {
      this.controls = new Controls(this);
      this.note = element("p", { class: "hc-note", role: "status" });
      this.canvas = element("div", { class: "hc-canvas", "aria-hidden": "true" });
      this.flags = element("div", { class: "hc-flags" });
      this.reader = element("div", { class: "hc-reader", role: "slider", tabindex: "0", "aria-label": words.reader, "aria-describedby": `${this.id}-help`, onkeydown: (event) => this.key(event) });
      this.plot = element("div", { class: "hc-plot" }, this.canvas, this.reader, this.flags);
      this.title = element("p", { class: "hc-title" });
      this.reset = element("button", { type: "button", class: "hc-reset", hidden: true, onclick: () => this.zoom(0, this.axis.length - 1) }, words.reset);
      this.readout = element("div", { class: "hc-readout" });
      this.comparison = element("div", { class: "hc-comparison" });
      this.strip = element("div", { class: "hc-strip", role: "group", "aria-label": words.sizes });
      this.table = element("div", { class: "hc-table" });
      const help = element("p", { class: "hc-help", id: `${this.id}-help` }, matchMedia("(pointer: coarse)").matches ? words.tap : words.help);
      this.dashed = element("span", {});
      help.append(" ", this.dashed);
      const head = element("div", { class: "hc-head" }, this.title, this.reset);
      const left = element("div", { class: "hc-left" }, head, this.plot, help);
      const side = element("div", { class: "hc-side" }, this.readout, this.comparison);
      const phone = matchMedia(PHONE).matches; // there the controls are under the chart, near the thumb
      const parts = phone ? [this.note, left, this.controls.box, side] : [this.controls.box, this.note, element("div", { class: "hc-body" }, left, side)];
      if (this.mode === "explorer") parts.push(this.strip, this.table);
      if (this.mode !== "explorer" && this.host.dataset.explorer) {
        this.link = element("a", { href: this.host.dataset.explorer }, this.mode === "landing" ? words.explore : words.open);
        parts.push(element("p", { class: "hc-open" }, this.link));
      }
      this.host.replaceChildren(...parts);
      this.host.classList.add("ready");
    }

    watch() {
      const redraw = () => { this.colours = palette(); this.render(); };
      new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
      let width = this.canvas.clientWidth;
      new ResizeObserver(() => {
        if (Math.abs(this.canvas.clientWidth - width) < 2) return;
        width = this.canvas.clientWidth;
        this.render();
      }).observe(this.canvas);
      if (this.mode === "explorer") addEventListener("hashchange", () => this.restore());
      this.touch();
    }

    /* -- state -- */

    /** Take the state from the address, or the first one. */
    restore() {
      const fragment = this.mode === "explorer" ? location.hash : this.host.dataset.explorer.split("#")[1] || "";
      const asked = tensorHistory.parsed(fragment);
      if (!asked && this.state) return; // an anchor of the page, such as #content
      const state = asked || { ...STATE, group: this.firstGroup() };
      if (this.other && !state.over) state.over = `machine:${this.other.name}`;
      this.needed(state).then((complete) => complete && this.show(state));
    }

    firstGroup() {
      return this.machine.values("group").sort((a, b) => order(a) - order(b))[0];
    }

    /** Load what a state needs and is not here: counts, another machine. Return whether all is here. */
    async needed(state) {
      const scripts = [], counted = !TIME_UNITS.includes(state.unit), [kind, name] = state.over.split(/:(.*)/);
      const lacks = (machine) => counted && !(machine && machine.loaded.has("counts"));
      if (lacks(this.machine)) scripts.push(`${this.machine.folder}counts.js`);
      if (state.grad === "yes") for (const machine of [this.machine, this.other]) if (machine && !machine.loaded.has("times")) scripts.push(`${machine.folder}times.js`);
      const row = kind === "machine" && this.machine.machines.find(([other]) => other === name);
      if (row && !tensorHistory.machines.has(name)) scripts.push(`${row[1]}times.js`);
      if (row && lacks(tensorHistory.machines.get(name))) scripts.push(`${row[1]}counts.js`);
      try {
        for (const script of scripts) await tensorHistory.load(`${this.root}${script}`);
        return true;
      } catch {
        this.note.textContent = words.noData;
        return false;
      }
    }

    /** Show a state, or the nearest that was measured. */
    show(asked, fixed = [], name = "") {
      const clean = this.checked(asked);
      const state = tensorHistory.measuredState(this.machine, clean, fixed) || tensorHistory.measuredState(this.machine, clean);
      if (!state) return this.show({ ...STATE, over: "" });
      const moved = PLACE_FIELDS.filter((field) => state[field] !== asked[field]);
      this.note.textContent = moved.length ? words.moved(this.describe(asked, name ? [name] : moved), this.describe(state, moved)) : "";
      this.state = state;
      if (this.mode === "explorer") history.replaceState(null, "", `#${tensorHistory.fragment(state, this.machine)}`);
      if (this.link) this.link.href = `${this.host.dataset.explorer.split("#")[0]}#${tensorHistory.fragment(state, this.machine)}`;
      this.render();
    }

    /** Return a state without releases, Pythons and overlays that do not exist. */
    checked(state) {
      const known = (value) => (this.machine.releases.includes(value) || (this.axis || []).includes(value) ? value : "");
      const cleaned = { ...state, base: known(state.base), with: known(state.with), from: known(state.from), to: known(state.to) };
      if (!this.machine.values("group").includes(state.group)) cleaned.group = this.firstGroup();
      if (!this.machine.pythons.includes(state.python)) cleaned.python = "";
      if (state.scale !== "linear") cleaned.scale = "log";
      if (![...TIME_UNITS, ...this.countUnits()].includes(state.unit)) cleaned.unit = "time";
      if (!this.overlays(state).includes(state.over)) cleaned.over = "";
      return cleaned;
    }

    /** Change one field. */
    choose(name, value, on) {
      if (name === "machine") return this.toMachine(value);
      const state = { ...this.state };
      if (name === "method") {
        const chosen = on ? [...state.method, value] : state.method.filter((method) => method !== value);
        state.method = this.machine.methodsOf(state.group).filter((method) => (chosen.length ? chosen : state.method).includes(method));
        if (on && !this.machine.at(state, value)) state.method = [value];
      } else state[name] = value;
      if (name === "group") state.method = [];
      const fixed = PLACE_FIELDS.includes(name) ? [name] : [];
      return this.needed(state).then((complete) => complete && this.show(state, fixed, name));
    }

    toMachine(name) {
      const row = this.machine.machines.find(([other]) => other === name);
      if (row) location.href = `${this.root}${row[1]}index.html${location.hash}`;
    }

    /** Return whether choosing a value stays at this place, and else where it leads; null for nowhere. */
    reached(name, value) {
      const { machine, state } = this;
      if (name === "scale") return { here: true };
      if (name === "python") return { here: !value || state.method.some((method) => machine.at(state, method).columns[value]) };
      if (name === "unit" && !TIME_UNITS.includes(value) && !machine.loaded.has("counts")) return { here: true };
      if (name === "unit" && value === "memcpy") return this.state.method.some((method) => Object.keys((machine.at({ ...state, unit: "time" }, method) || { memcpy: {} }).memcpy).length) ? { here: true } : null;
      if (name === "grad" && !machine.loaded.has("times")) return { here: true };
      if (name === "method") return machine.at(state, value) ? { here: true } : this.reachedMethod(value);
      const asked = { ...state, [name]: value, ...(name === "group" ? { method: [] } : {}) };
      const nearest = tensorHistory.measuredState(machine, asked, PLACE_FIELDS.includes(name) ? [name] : []);
      if (!nearest) return null;
      const moved = PLACE_FIELDS.filter((field) => nearest[field] !== asked[field]);
      return { here: !moved.length, what: this.describe(nearest, moved) };
    }

    reachedMethod(method) {
      const nearest = tensorHistory.measuredState(this.machine, { ...this.state, method: [method] });
      if (!nearest || !nearest.method.includes(method)) return null;
      return { here: false, what: this.describe(nearest, PLACE_FIELDS.filter((field) => nearest[field] !== this.state[field])) };
    }

    /** Return fields of a state in words: "2¹⁷, grad no". */
    describe(state, fields) {
      return fields.map((name) => {
        const value = name === "method" ? "" : label(name, state[name], this.machine);
        return ["numel", "dtype", "layout", "group", "device", "unit"].includes(name) ? value : `${words[name]} ${value}`;
      }).join(", ");
    }

    countUnits() {
      const counted = this.machine.loaded.has("counts") ? this.machine.values("quantity").filter((name) => name !== "time") : this.host.dataset.counts.split(" ").filter(Boolean);
      const rank = ["instructions", "allocated", "peak", "allocations"];
      return counted.sort((a, b) => (rank.indexOf(a) + 9) % 9 - (rank.indexOf(b) + 9) % 9);
    }

    overlays(state = this.state) {
      const { machine } = this;
      const others = new Set([...machine.machines.map(([name]) => name), ...(this.other ? [this.other.name] : [])]);
      others.delete(machine.name);
      const pythons = machine.pythons.length > 1 ? machine.pythons.map((name) => `python:${name}`) : [];
      const devices = Object.keys(machine.devices).filter((name) => name !== (state || STATE).device && machine.values("device", (entry) => entry.quantity === "time").includes(name));
      return ["", ...[...others].map((name) => `machine:${name}`), ...devices.map((name) => `device:${name}`), ...pythons];
    }

    /* -- lines -- */

    /** Return the colour and the shape of a method's line. */
    look(method) {
      const place = Math.max(0, this.machine.methodsOf((this.machine.methods[method] || {}).group).indexOf(method));
      return { colour: 1 + (place % COLOURS), shape: this.shapes[place % this.shapes.length], again: place >= COLOURS };
    }

    /** Make the lines of the state, on the releases of all machines shown. */
    lines() {
      const { state, machine } = this;
      const made = this.linesOf(machine, state, "");
      const [kind, name] = state.over.split(/:(.*)/);
      if (kind === "machine" && tensorHistory.machines.has(name)) made.push(...this.linesOf(tensorHistory.machines.get(name), { ...state, python: "" }, tensorHistory.machines.get(name).label));
      if (kind === "python") made.push(...this.linesOf(machine, { ...state, python: name }, `Python ${name}`));
      if (kind === "device") made.push(...this.linesOf(machine, { ...state, device: name }, name));
      this.axis = [...new Set(made.flatMap((line) => line.machine.releases))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
      const index = new Map(this.axis.map((version, at) => [version, at]));
      return made.map((line) => tensorHistory.realigned(line, index, this.axis.length));
    }

    linesOf(machine, state, over) {
      return state.method.map((method) => machine.at(state, method)).filter((entry) => entry && (!state.python || entry.columns[state.python])).map((entry) => {
        const line = { ...tensorHistory.lineOf(machine, entry, state.python), ...this.look(entry.method), over };
        line.code = machine.code(entry.method, entry.device);
        line.address = this.root + (entry.at || `${entry.suiteFolder}/${entry.page}.html`);
        return line;
      });
    }

    /* -- drawing -- */

    render() {
      const { state } = this;
      this.drawn = this.lines();
      const base = this.baseIndex();
      for (const line of this.drawn) {
        line.y = tensorHistory.valuesIn(line, state.unit, base);
      }
      this.first = Math.max(0, this.axis.indexOf(state.from));
      this.last = state.to ? this.axis.indexOf(state.to) : this.axis.length - 1;
      if (this.last <= this.first) [this.first, this.last] = [0, this.axis.length - 1];
      this.names = shortNames(this.axis);
      if (this.read === undefined || this.read > this.last || this.read < this.first) this.read = this.newestRead();
      this.controls.update();
      this.title.replaceChildren(...this.heading());
      this.dashed.textContent = this.drawn.some((line) => line.joints.length) ? words.dashed : "";
      this.reset.hidden = this.first === 0 && this.last === this.axis.length - 1;
      this.draw();
      this.showComparison();
      if (this.mode === "explorer") { this.showStrip(); this.showTable(); }
    }

    newestRead() {
      for (let at = this.last; at > this.first; at--) if (this.drawn.some((line) => line.y[at] !== null)) return at;
      return this.last;
    }

    /** Return the release that is 100 %: the marked one, else the first that all lines have. */
    baseIndex() {
      const { state } = this;
      if (state.base) return this.axis.indexOf(state.base);
      const from = Math.max(0, this.axis.indexOf(state.from));
      for (let at = from; at < this.axis.length; at++) if (this.drawn.every((line) => line.drawn[at] !== null)) return at;
      return this.drawn.length ? this.drawn[0].drawn.findIndex((value) => value !== null) : 0;
    }

    heading() {
      const { state, machine } = this;
      const size = format.elements(Number(state.numel)), where = machine.devices[state.device] || state.device;
      const unit = state.unit === "percent" ? words.against(this.axis[this.baseIndex()]) : state.unit === "time" ? words.perCall : words[state.unit];
      const facts = [`${size} ${state.dtype}`, state.grad === "yes" ? "requires_grad" : "", state.layout === "contiguous" ? "" : state.layout, state.threads === "1" ? "" : `${state.threads} threads`].filter(Boolean);
      return [element("strong", {}, `${wordOf(state.group)}, ${facts.join(", ")}`), ` ${unit} · ${where}`];
    }

    draw() {
      if (this.uplot) this.uplot.destroy();
      const { state } = this, width = Math.max(260, this.canvas.clientWidth || 600);
      const height = this.mode === "explorer" ? Math.max(TALL, Math.min(560, innerHeight * 0.55)) : innerWidth < 640 ? 300 : LOW;
      this.logarithmic = state.scale === "log";
      const [low, high] = robustRange(this.drawn, this.first, this.last, this.logarithmic || state.unit === "percent");
      const to = this.logarithmic ? Math.log10 : (value) => value;
      this.toScale = (value) => (value === null ? null : to(value));
      this.range = [low, high];
      this.arrows = this.outside();
      const data = [this.axis.map((_, at) => at), ...this.drawn.map((line) => line.y.map(this.toScale))];
      this.uplot = new uPlot(this.options(width, height), data, this.canvas);
      this.over = this.uplot.over || this.canvas.querySelector(".u-over");
      this.over.addEventListener("pointerdown", (event) => (this.pressed = event.clientX));
      this.over.addEventListener("click", (event) => this.click(event));
      this.over.addEventListener("pointerleave", () => this.readAgain());
    }

    /** Place what lies above the drawing, when the drawing has its scales. */
    placed(plot) {
      this.placeReader();
      this.showFlags();
      this.drawLeaders(plot, devicePixelRatio);
      this.showRead();
    }

    options(width, height) {
      const { colours, state } = this, font = `${FONT}px system-ui, sans-serif`;
      const [low, high] = this.range, most = Math.max(3, Math.round(height / 70));
      const values = ticks(low, high, this.logarithmic, most, state.unit === "percent" ? 1 : 0);
      const texts = values.map((value) => tickText(value, state.unit));
      const plotted = width - this.gutter(texts) - 12;
      const stride = Math.max(1, Math.ceil(((this.last - this.first + 1) * (6 * Math.max(...this.names.map((name) => name.length)) + 4)) / plotted));
      const shown = this.axis.map((_, at) => at).filter((at) => at >= this.first && at <= this.last && (this.last - at) % stride === 0);
      return {
        width, height, legend: { show: false }, padding: [22, 12, 0, 0],
        scales: { x: { time: false, range: () => [this.first - 0.5, this.last + 0.5] }, y: { range: () => [low, high].map(this.toScale) } },
        axes: [
          { splits: () => shown, values: (_, at) => at.map((index) => this.names[index]), stroke: colours.quiet, grid: { show: false }, ticks: { stroke: colours.rule, width: 1, size: 5 }, font, size: 32, gap: 5 },
          { splits: () => values.map(this.toScale), values: () => texts, stroke: colours.quiet, grid: { stroke: colours.rule, width: 1 }, ticks: { show: false }, font, size: this.gutter(texts), gap: 6 },
        ],
        series: [{}, ...this.drawn.map((line) => ({ paths: () => null, points: { show: false }, stroke: colours.lines[line.colour - 1] }))],
        cursor: {
          y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 10 },
          bind: { dblclick: () => () => { this.zoom(0, this.axis.length - 1); return null; } },
          move: (plot, left, top) => (left < 0 ? [left, top] : [plot.valToPos(Math.round(plot.posToVal(left, "x")), "x"), top]),
        },
        hooks: {
          drawAxes: [(plot) => this.drawBehind(plot)], draw: [(plot) => this.drawLines(plot)],
          ready: [(plot) => this.placed(plot)], setCursor: [(plot) => this.pointed(plot)], setSelect: [(plot) => this.selected(plot)],
        },
      };
    }

    gutter(texts) {
      return Math.round(16 + Math.max(24, ...texts.map((text) => text.length * 6.6)));
    }

    /** Draw marked releases, changes of the machine and the ranges of the passes, under the lines. */
    drawBehind(plot) {
      const { ctx } = plot, { left, top, width, height } = plot.bbox, ratio = devicePixelRatio;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      for (const version of [this.state.base, this.state.with].filter(Boolean)) {
        const x = plot.valToPos(this.axis.indexOf(version), "x", true), half = Math.abs(plot.valToPos(0.4, "x", true) - plot.valToPos(0, "x", true));
        ctx.fillStyle = withAlpha(this.colours.accent, 0.14);
        ctx.fillRect(x - half, top, 2 * half, height);
      }
      if (this.state.unit === "percent") {
        const y = plot.valToPos(this.toScale(1), "y", true);
        ctx.fillStyle = this.colours.quiet;
        ctx.fillRect(left, Math.round(y), width, ratio);
      }
      for (const release of Object.keys(this.machine.machineChanges)) {
        const x = plot.valToPos(this.axis.indexOf(this.machine.releases[release]) - 0.5, "x", true);
        ctx.strokeStyle = this.colours.quiet;
        ctx.setLineDash([2 * ratio, 4 * ratio]);
        ctx.strokeRect(x, top, 0, height);
      }
      for (const line of this.drawn) if (!line.over) this.drawBand(plot, line);
      ctx.restore();
    }

    drawBand(plot, line) {
      const { ctx } = plot, runs = [];
      let run = null;
      line.y.forEach((value, at) => {
        if (value === null) { run = null; return; }
        if (!run) runs.push((run = []));
        run.push(at);
      });
      ctx.fillStyle = withAlpha(this.colours.lines[line.colour - 1], 0.11);
      const x = (at) => plot.valToPos(at, "x", true), y = (value) => plot.valToPos(this.toScale(value), "y", true);
      for (const points of runs.filter((points) => points.length > 1)) {
        ctx.beginPath();
        points.forEach((at) => ctx.lineTo(x(at), y(line.y[at] * line.high[at])));
        [...points].reverse().forEach((at) => ctx.lineTo(x(at), y(line.y[at] * line.low[at])));
        ctx.fill();
      }
    }

    drawLines(plot) {
      const { ctx } = plot, { left, top, width, height } = plot.bbox, ratio = devicePixelRatio;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      for (const line of this.drawn) this.drawLine(plot, line, ratio);
      ctx.restore();
      for (const arrow of this.arrows) this.drawArrow(plot, arrow, ratio);
    }

    /** Draw a line: dashed where an older Python was scaled, faint where releases between are missing. */
    drawLine(plot, line, ratio) {
      const { ctx } = plot, colour = this.colours.lines[line.colour - 1];
      const newest = line.python.findLast((name) => name !== null);
      ctx.strokeStyle = colour;
      ctx.lineJoin = "round";
      let before = -1;
      line.y.forEach((value, at) => {
        if (value === null) return;
        const point = [plot.valToPos(at, "x", true), plot.valToPos(this.toScale(value), "y", true)];
        if (before >= 0) {
          const older = line.python[before] !== newest;
          ctx.lineWidth = (line.over ? 1.2 : 1.9) * ratio;
          ctx.globalAlpha = at - before > 1 && line.over ? 0.45 : 1;
          ctx.setLineDash(line.over ? [2 * ratio, 3 * ratio] : older ? [5 * ratio, 3 * ratio] : line.again ? [9 * ratio, 2 * ratio] : []);
          ctx.beginPath();
          ctx.moveTo(plot.valToPos(before, "x", true), plot.valToPos(this.toScale(line.y[before]), "y", true));
          ctx.lineTo(...point);
          ctx.stroke();
        }
        before = at;
      });
      ctx.globalAlpha = 1;
      ctx.setLineDash([]);
      line.y.forEach((value, at) => value !== null && this.drawMark(plot, line, at, ratio, line.python[at] !== newest || Boolean(line.over)));
    }

    drawMark(plot, line, at, ratio, hollow) {
      const { ctx } = plot, step = line.steps.some((step) => step.release === at);
      const alone = line.y.filter((value) => value !== null).length === 1;
      ctx.save();
      ctx.translate(plot.valToPos(at, "x", true), plot.valToPos(this.toScale(line.y[at]), "y", true));
      ctx.scale(ratio * (alone ? 2 : step ? 1.25 : 0.9), ratio * (alone ? 2 : step ? 1.25 : 0.9));
      const path = new Path2D(line.shape);
      ctx.strokeStyle = this.colours.lines[line.colour - 1];
      ctx.fillStyle = hollow ? this.colours.paper : ctx.strokeStyle;
      ctx.lineWidth = 1.3;
      if (hollow) ctx.fill(path);
      ctx.stroke(path);
      if (!hollow) ctx.fill(path);
      ctx.restore();
    }

    /** Return the values outside the range, which are drawn as arrows at the edge. */
    outside() {
      const arrows = [];
      for (const line of this.drawn) {
        for (let at = this.first; at <= this.last; at++) {
          const value = line.y[at];
          if (value !== null && (value > this.range[1] || value < this.range[0])) arrows.push({ line, at, up: value > this.range[1] });
        }
      }
      return arrows;
    }

    drawArrow(plot, { line, at, up }, ratio) {
      const { ctx } = plot, { top, height } = plot.bbox;
      const x = plot.valToPos(at, "x", true), size = 5 * ratio, y = up ? top + 2 * ratio : top + height - 2 * ratio;
      ctx.fillStyle = this.colours.lines[line.colour - 1];
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x - size, y + 1.6 * (up ? size : -size));
      ctx.lineTo(x + size, y + 1.6 * (up ? size : -size));
      ctx.fill();
    }

    /** Draw a thin line from each flag to its point. */
    drawLeaders(plot, ratio) {
      const { ctx } = plot, { left, top } = plot.bbox;
      ctx.strokeStyle = this.colours.quiet;
      ctx.lineWidth = ratio;
      for (const { x, y, to } of this.leaders) {
        ctx.beginPath();
        ctx.moveTo(left + x * ratio, top + y * ratio);
        ctx.lineTo(left + to[0] * ratio, top + to[1] * ratio);
        ctx.stroke();
      }
    }

    /* -- flags of changes -- */

    showFlags() {
      const { uplot } = this, place = this.over.getBoundingClientRect(), home = this.plot.getBoundingClientRect();
      const offset = { x: place.left - home.left, y: place.top - home.top };
      const groups = this.changes();
      const most = Math.max(3, Math.floor(place.width / 120));
      const shown = groups.sort((a, b) => b.size - a.size).slice(0, most).sort((a, b) => a.release - b.release);
      const taken = this.arrows.map(({ at, up }) => ({ left: uplot.valToPos(at, "x") - 8, top: up ? 0 : place.height - 14, width: 16, height: 14 }));
      this.leaders = [];
      const arrows = this.arrows.map((arrow, index) => this.arrowTip(arrow, taken[index], offset));
      this.flags.replaceChildren(...arrows, ...shown.map((group) => this.flag(group, taken, place, offset)));
    }

    /** Return an element over an arrow that shows its value to the pointer. */
    arrowTip({ line, at }, box, offset) {
      const tip = element("span", { class: "hc-arrow", title: `${line.code}: ${words.outside(this.valueText(line, at))}` });
      Object.assign(tip.style, { left: `${box.left + offset.x}px`, top: `${box.top + offset.y}px` });
      return tip;
    }

    /** Return the changes shown: those of one release and direction together. */
    changes() {
      const groups = new Map();
      for (const line of this.drawn.filter((each) => !each.over)) {
        for (const step of line.steps) {
          if (step.release < this.first || step.release > this.last || line.y[step.release] === null) continue;
          const key = `${step.release} ${step.ratio > 1}`;
          if (!groups.has(key)) groups.set(key, { release: step.release, slower: step.ratio > 1, steps: [], size: 0 });
          const group = groups.get(key);
          group.steps.push({ line, step });
          group.size = Math.max(group.size, Math.abs(Math.log(step.ratio)));
        }
      }
      return [...groups.values()];
    }

    flag(group, taken, place, offset) {
      const { release, steps } = group;
      steps.sort((a, b) => Math.abs(Math.log(b.step.ratio)) - Math.abs(Math.log(a.step.ratio)));
      const [{ step }] = steps, sure = steps.some((each) => each.step.status);
      const rounded = step.text.replace(/(\d)\.\d(?=\u202f?\s?%)/, "$1");
      const several = steps.length > 1 ? ` · ${steps.length} ${words.lines}` : "";
      const name = `${this.names[release]}: ${rounded}${several}${sure ? "" : " ?"}`;
      const title = steps.map((each) => `${each.line.code}: ${this.sentence(each.step)}`).join("\n");
      const anchor = element("a", { class: `hc-flag ${group.slower ? "slower" : "faster"}${sure ? "" : " unsure"}`, href: this.evidence(group), title }, name);
      anchor.append(element("span", { class: "hc-hidden" }, `. ${title}`));
      anchor.addEventListener("focus", () => this.readAt(release));
      const width = name.length * 6.5 + 14, height = 24;
      const x = this.uplot.valToPos(release, "x");
      const points = steps.map((each) => Math.min(Math.max(this.uplot.valToPos(this.toScale(each.line.y[release]), "y"), 0), place.height));
      const box = this.free(x, points, width, height, taken, place);
      const y = box.top < Math.min(...points) ? Math.min(...points) : Math.max(...points);
      taken.push(box);
      Object.assign(anchor.style, { left: `${box.left + offset.x}px`, top: `${box.top + offset.y}px` });
      this.leaders.push({ x, y, to: [Math.min(Math.max(x, box.left + 6), box.left + width - 6), box.top > y ? box.top : box.top + height] });
      return anchor;
    }

    /** Return the place for a flag that hides least: above or below its point, free of other flags and of lines. */
    free(x, points, width, height, taken, place) {
      const left = Math.min(Math.max(x - width / 2, 0), place.width - width);
      let best = null, least = Infinity;
      for (const shift of [-34, 14, -60, 40, -86, 66, -112, 92, -140, 120, -170, 150, -200, 180]) {
        const box = { left, top: shift + (shift < 0 ? Math.min(...points) : Math.max(...points)), width, height };
        if (box.top < -20 || box.top + height > place.height) continue;
        const hidden = this.hiddenBy(box), others = taken.filter((other) => overlap(box, other)).length;
        const cost = 100 * others + 3 * hidden + Math.abs(shift) / 20;
        if (cost < least) [best, least] = [box, cost];
      }
      return best || { left, top: Math.max(0, Math.min(...points) - 34), width, height };
    }

    /** Return how many points of lines a box hides. */
    hiddenBy(box) {
      let count = 0;
      const from = Math.max(this.first, Math.floor(this.uplot.posToVal(box.left, "x"))), to = Math.min(this.last, Math.ceil(this.uplot.posToVal(box.left + box.width, "x")));
      for (const line of this.drawn) {
        for (let at = from; at <= to; at += 0.5) {
          const [a, b] = [line.y[Math.floor(at)], line.y[Math.ceil(at)]];
          if (a === null || b === null || a === undefined || b === undefined) continue;
          const x = this.uplot.valToPos(at, "x"), y = this.uplot.valToPos((this.toScale(a) + this.toScale(b)) / 2, "y");
          if (x > box.left - 3 && x < box.left + box.width + 3 && y > box.top - 3 && y < box.top + box.height + 3) count++;
        }
      }
      return count;
    }

    sentence(step) {
      const status = { count: words.confirmedCount, repeat: words.confirmedRepeat }[step.status] || words.unconfirmed;
      const count = `${step.text} ${words[this.state.unit]}`;
      return `${step.sentence || count} (${status})`;
    }

    /** Return the address of the evidence: the history of the case, or the comparison where several changed. */
    evidence({ release, steps }) {
      if (steps.length === 1) return steps[0].line.address;
      const { machine, step, line } = { machine: this.machine, ...steps[0] };
      const before = tensorHistory.previous(line, release);
      const index = (at) => machine.releases.indexOf(this.axis[at]);
      return this.addressOf(machine.comparison(step.python, index(before), index(release))) || line.address;
    }

    addressOf(address) {
      return address && `${this.root}${address}`;
    }

    /* -- reading -- */

    placeReader() {
      const place = this.over.getBoundingClientRect(), home = this.plot.getBoundingClientRect();
      Object.assign(this.reader.style, { left: `${place.left - home.left}px`, top: `${place.top - home.top}px`, width: `${place.width}px`, height: `${place.height}px` });
      if (!this.cross) this.cross = element("div", { class: "hc-cross" });
      this.reader.append(this.cross);
    }

    pointed(plot) {
      if (!this.uplot || plot.cursor.left < 0 || plot.cursor.left === undefined) return;
      const at = Math.round(plot.posToVal(plot.cursor.left, "x"));
      if (at >= this.first && at <= this.last && at !== this.read) { this.read = at; this.showRead(); }
    }

    readAt(at) {
      this.read = Math.min(Math.max(at, this.first), this.last);
      this.showRead();
    }

    readAgain() {
      if (document.activeElement !== this.reader) this.readAt(this.newestRead());
    }

    key(event) {
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -5, PageUp: 5 };
      if (event.key in moves) this.readAt(this.read + moves[event.key]);
      else if (event.key === "Home") this.readAt(this.first);
      else if (event.key === "End") this.readAt(this.last);
      else if (event.key === "Enter" || event.key === " ") this.mark(this.read);
      else if (event.key === "Escape") this.clear();
      else if (event.key === "+" || event.key === "=") this.zoomBy(0.5);
      else if (event.key === "-") this.zoomBy(2);
      else if (event.key === "0") this.zoom(0, this.axis.length - 1);
      else return;
      event.preventDefault();
    }

    /** Read with a finger: sliding along the chart reads, and does not zoom. */
    touch() {
      const read = (event) => {
        const { left } = this.over.getBoundingClientRect();
        this.readAt(Math.round(this.uplot.posToVal(event.touches[0].clientX - left, "x")));
      };
      this.canvas.addEventListener("touchstart", read, { passive: true });
      this.canvas.addEventListener("touchmove", read, { passive: true });
    }

    showRead() {
      const { read, reader, axis } = this;
      const x = this.uplot.valToPos(read, "x");
      this.cross.style.left = `${x}px`;
      reader.setAttribute("aria-valuemin", this.first);
      reader.setAttribute("aria-valuemax", this.last);
      reader.setAttribute("aria-valuenow", read);
      const values = this.drawn.filter((line) => !line.over || line.y[read]).map((line) => `${line.code} ${line.over} ${this.valueText(line, read)}`);
      reader.setAttribute("aria-valuetext", `torch ${axis[read]}: ${values.join("; ")}`);
      const date = this.machine.dates[this.machine.releases.indexOf(axis[read])] || "";
      const changed = this.machine.machineChanges[this.machine.releases.indexOf(axis[read])];
      const head = element("caption", {}, element("strong", {}, `torch ${axis[read]}`), ` ${date}`, changed ? ` · ${words.machineChanged}: ${changed.join("; ")}` : "");
      const columns = [words.line, wordOf(this.state.unit), words.previous].map((word) => element("th", { scope: "col" }, word));
      const rows = this.drawn.filter((line) => !line.over).map((line) => this.readRow(line, read));
      this.readout.replaceChildren(element("table", {}, head, element("thead", {}, element("tr", {}, ...columns)), element("tbody", {}, ...rows)));
    }

    valueText(line, at) {
      const { unit } = this.state;
      if (line.y[at] === null || line.y[at] === undefined) return words.notMeasured;
      return format.quantity(TIME_UNITS.includes(unit) && unit !== "time" ? line.y[at] : line.measured[at], unit);
    }

    readRow(line, at) {
      const { unit } = this.state, before = tensorHistory.previous(line, at), timed = TIME_UNITS.includes(unit);
      const known = line.measured[at] !== null && line.measured[at] !== undefined;
      const step = line.steps.find((step) => step.release === at);
      const details = [];
      if (known && (line.low[at] !== 1 || line.high[at] !== 1)) {
        const ends = [line.low[at], line.high[at]].map((end) => (timed ? format.duration(line.measured[at] * end) : format.quantity(line.measured[at] * end, unit)));
        details.push(rangeText(...ends));
      }
      if (known && unit === "percent") details.push(format.duration(line.measured[at]));
      if (known && timed && unit !== "memcpy" && line.memcpy[at]) details.push(`${format.times(line.measured[at] / line.memcpy[at])} memcpy`);
      if (known && unit === "memcpy") details.push(format.duration(line.measured[at]));
      const factor = known ? line.drawn[at] / line.measured[at] : 1;
      if (Math.abs(factor - 1) > 0.0005) details.push(words.scaledBy(line.python[at], factor.toFixed(3)));
      const name = element("a", { href: line.address }, breakable(line.code));
      const change = before >= 0 && known && line.y[at] && line.y[before] ? format.percent(line.y[at] / line.y[before]) : "";
      const mark = step ? element("span", { class: `hc-step ${step.ratio > 1 ? "slower" : "faster"}`, title: this.sentence(step) }, `${step.ratio > 1 ? "▲" : "▼"} ${step.text}${step.status ? "" : " ?"}`) : null;
      const small = element("small", {}, details.join(" · "));
      const others = this.drawn.filter((other) => other.over && other.entry.method === line.entry.method && other.y[at]).map((other) => this.readOver(other, line, at));
      return element("tr", {}, element("th", { scope: "row" }, swatch(line), name, small, ...others), element("td", {}, this.valueText(line, at)), element("td", {}, change, mark));
    }

    /** Return a line's value of an overlay, as a share of the line below it. */
    readOver(other, line, at) {
      const share = line.measured[at] ? ` (${format.percent(other.measured[at] / line.measured[at])})` : "";
      return element("small", { class: "hc-over" }, swatch(other), element("a", { href: other.address }, other.over), ` ${this.valueText(other, at)}${share}`);
    }

    /* -- zooming and comparing -- */

    selected(plot) {
      const { left, width } = plot.select;
      if (width < 10) return;
      const first = Math.ceil(plot.posToVal(left, "x") - 0.25), last = Math.floor(plot.posToVal(left + width, "x") + 0.25);
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.zoomed = true;
      if (last > first) this.zoom(first, last);
    }

    zoom(first, last) {
      const all = first <= 0 && last >= this.axis.length - 1;
      this.show({ ...this.state, from: all ? "" : this.axis[Math.max(0, first)], to: all ? "" : this.axis[Math.min(last, this.axis.length - 1)] });
    }

    zoomBy(factor) {
      const half = Math.max(1, ((this.last - this.first) * factor) / 2);
      this.zoom(Math.round(this.read - half), Math.round(this.read + half));
    }

    click(event) {
      const dragged = Math.abs(event.clientX - (this.pressed ?? event.clientX)) > 5;
      if (dragged || event.pointerType === "touch") return;
      this.mark(this.read);
    }

    /** Mark a release: the first is the base, the second is compared with it, a third starts anew. */
    mark(at) {
      const { state } = this, version = this.axis[at];
      if (!state.base || state.with) this.show({ ...state, base: version, with: "" });
      else if (state.base === version) this.clear();
      else this.show({ ...state, with: version });
    }

    clear() {
      this.show({ ...this.state, base: "", with: "" });
    }

    showComparison() {
      const { state } = this;
      const choice = (name, word) => {
        const select = element("select", { "aria-label": `${word} torch`, onchange: () => this.show({ ...this.state, [name]: select.value }) }, element("option", { value: "" }, "–"), ...[...this.axis].reverse().map((version) => element("option", { value: version }, version)));
        select.value = state[name];
        select.dataset.name = name;
        return select;
      };
      const focused = this.comparison.contains(document.activeElement) && document.activeElement.dataset.name;
      const head = element("p", { class: "hc-choice" }, `${words.compare} `, choice("base", words.compare), ` ${words.with} `, choice("with", words.with));
      if (state.base || state.with) head.append(" ", element("button", { type: "button", onclick: () => this.clear() }, words.clear));
      this.comparison.replaceChildren(head);
      if (state.base && state.with) this.comparison.append(...this.comparisonTable());
      if (focused) this.comparison.querySelector(`[data-name="${focused}"]`).focus();
    }

    comparisonTable() {
      const { state } = this, [before, after] = [state.base, state.with].map((version) => this.axis.indexOf(version)).sort((a, b) => a - b);
      let overlaps = false;
      const rows = this.drawn.filter((line) => line.y[before] || line.y[after]).map((line) => {
        const ratio = line.y[before] && line.y[after] ? line.y[after] / line.y[before] : null;
        const joint = ratio !== null && line.y[after] * line.low[after] <= line.y[before] * line.high[before] && line.y[before] * line.low[before] <= line.y[after] * line.high[after];
        const verdict = ratio === null || joint ? "" : ratio > 1 ? "slower" : "faster";
        const result = element("td", { class: verdict ? `hc-step ${verdict}` : "" }, ratio === null ? "" : `${joint ? "≈ " : ""}${format.percent(ratio)}`);
        overlaps ||= joint;
        const unit = state.unit === "percent" ? "time" : state.unit;
        const value = (at) => (line.y[at] === null ? "–" : format.quantity(unit === "memcpy" ? line.y[at] : line.measured[at], unit));
        return element("tr", {}, element("th", { scope: "row" }, swatch(line), breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null), element("td", {}, value(before)), element("td", {}, value(after)), result);
      });
      const heads = [words.line, this.axis[before], this.axis[after], words.ratio].map((word) => element("th", { scope: "col" }, word));
      const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
      const address = this.pairAddress(before, after);
      const note = overlaps ? [element("p", { class: "hc-help" }, words.overlap)] : [];
      return [table, ...note, ...(address ? [element("p", { class: "hc-page" }, element("a", { href: address }, words.page))] : [])];
    }

    pairAddress(before, after) {
      const index = (at) => this.machine.releases.indexOf(this.axis[at]);
      const pythons = this.state.python ? [this.state.python] : this.machine.pythons;
      return this.addressOf(pythons.map((python) => this.machine.comparison(python, index(before), index(after))).find(Boolean));
    }

    /* -- all sizes, and the table -- */

    showStrip() {
      const { machine, state } = this;
      const sizes = machine.values("numel", (entry) => entry.group === state.group && entry.quantity === tensorHistory.quantityOf(state.unit));
      const measured = sizes.filter((numel) => state.method.some((method) => machine.at({ ...state, numel }, method)));
      this.strip.hidden = measured.length < 2;
      const focused = this.strip.contains(document.activeElement) && document.activeElement.value;
      this.strip.replaceChildren(...measured.map((numel) => this.miniature(numel)));
      if (focused) this.strip.querySelector(`[value="${focused}"]`)?.focus();
    }

    miniature(numel) {
      const { state, machine } = this, current = numel === state.numel;
      const lines = this.linesOf(machine, { ...state, numel }, "");
      const base = Math.max(0, machine.releases.indexOf(state.base));
      for (const line of lines) line.y = tensorHistory.valuesIn(line, state.unit, state.base ? base : line.drawn.findIndex((value) => value !== null));
      const newest = lines.map((line) => line.y.findLast((value) => value !== null)).filter((value) => value !== undefined);
      const caption = element("span", {}, element("strong", {}, format.elements(Number(numel))), newest.length ? ` ${format.quantity(Math.min(...newest), state.unit)}` : "");
      return element("button", { type: "button", value: numel, class: "hc-mini", "aria-pressed": String(current), onclick: () => this.choose("numel", numel, true) }, caption, miniatureOf(lines));
    }

    showTable() {
      const heads = [element("th", { scope: "col" }, words.release), ...this.drawn.map((line) => element("th", { scope: "col" }, breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null))];
      const rows = [];
      for (let at = this.last; at >= this.first; at--) {
        if (this.drawn.every((line) => line.y[at] === null)) continue;
        const cells = this.drawn.map((line) => {
          const step = line.steps.find((step) => step.release === at);
          const mark = step ? element("span", { class: `hc-step ${step.ratio > 1 ? "slower" : "faster"}`, title: this.sentence(step) }, ` ${step.ratio > 1 ? "▲" : "▼"} ${step.text}`) : null;
          return element("td", {}, line.y[at] === null ? "–" : this.valueText(line, at), mark);
        });
        rows.push(element("tr", {}, element("th", { scope: "row" }, this.axis[at], element("small", {}, ` ${this.drawn.map((line) => line.python[at]).find(Boolean) || ""}`)), ...cells));
      }
      const table = element("table", { class: "narrow" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
      this.table.replaceChildren(element("h2", {}, words.table), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words.table }, table));
    }
  }

  /** Join two values, with their unit once where it is the same: "2.13…2.63 µs". */
  function rangeText(low, high) {
    const [amount, unit] = low.split(" ");
    return unit && high.endsWith(` ${unit}`) ? `${amount}…${high}` : `${low}…${high}`;
  }

  /** Allow line breaks before each call of a code, as the pages do, and after "=". */
  function breakable(code) {
    const [head, ...calls] = code.split(/(?=\.)|(?<==)/), made = element("code", {}, head);
    calls.forEach((call, index) => made.append(...(index === 0 && head.length <= 2 ? [call] : [element("wbr"), call])));
    return made;
  }

  function overlap(a, b) {
    return a.left < b.left + b.width + 2 && b.left < a.left + a.width + 2 && a.top < b.top + b.height + 2 && b.top < a.top + a.height + 2;
  }

  /** Return lines without axes as an SVG, which the stylesheet colours. */
  function miniatureOf(lines) {
    const last = Math.max(1, ...lines.map((line) => line.y.length - 1));
    const [low, high] = robustRange(lines, 0, last, true).map(Math.log);
    const paths = lines.map((line) => {
      const points = line.y.map((value, at) => value && `${((100 * at) / last).toFixed(1)} ${(40 - (40 * (Math.log(value) - low)) / (high - low)).toFixed(1)}`);
      return drawing("path", { class: `line s${line.colour}`, d: `M${points.filter(Boolean).join("L")}` });
    });
    return drawing("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
  }

  /* ---- start ---- */

  /** Return the machines whose data a chart shows: of the block in its page, or of a script. */
  function dataOf(host) {
    const block = document.getElementById(host.dataset.source);
    if (!block) return [tensorHistory.machines.get(host.dataset.machine)];
    return [JSON.parse(block.textContent)].flat().map(tensorHistory.receive);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const host of document.querySelectorAll(".history-chart:not(.ready)")) {
      const data = dataOf(host);
      if (data[0] && data[0].cases.size) new HistoryChart(host, data);
    }
  });
})();
