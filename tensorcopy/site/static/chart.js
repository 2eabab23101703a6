/* The model of a chart over releases: cases by place, the state in the address, lines, values in a unit, ranges and ticks of axes. Draws nothing.

The state of the explorer is in the fragment of its address (docs/reading.md); what is left out has its default:

  group=copies                        or conversions, primitives, alternatives, transfers, own
  method=clone_detach,detach_clone    all methods of the group by default
  numel=16384  grad=yes  dtype=float16  layout=strided  device=cuda  timed=latency
  python=3.9                          one Python; by default the Pythons are joined on one axis
  unit=percent                        time, percent, instructions, allocated, peak, allocations, …
  base=2.5.1  with=2.15.0             the releases that are compared; `base` is also the 100 % of unit=percent
  from=2.0.1  to=2.15.0               the releases between which the chart is zoomed
  scale=linear                        logarithmic by default
  over=machine:NAME                   an overlay: also over=python:3.9, over=device:cuda
*/
"use strict";

const tensorHistory = (() => {
  const CASE = { quantity: "time", grad: "no", dtype: "float32", layout: "contiguous", device: "cpu", timed: "throughput" };
  const PLACE = ["quantity", "group", "numel", "grad", "dtype", "layout", "device", "timed"];
  const STATE = {
    group: "copies", method: [], numel: "1024", grad: "no", dtype: "float32", layout: "contiguous", device: "cpu",
    timed: "throughput", python: "", unit: "time", base: "", with: "", from: "", to: "", scale: "log", over: "",
  };
  const TIME_UNITS = ["time", "percent"];
  const DISTANCE = { group: 100, quantity: 100, device: 50, timed: 20, dtype: 20, layout: 20, grad: 10, numel: 1 };
  const UNIT = 1e3; // half widths of intervals and detectable changes are in these parts of the value
  const LINE = ["drawn", "measured", "within", "detect", "python", "unpaired"]; // what a line has at every release
  const OUTSIDE = 1.5, LEAST_SPREAD = Math.log(1.5); // a value is outside when it lies so many spreads beyond nine tenths of all

  /* ---- text ---- */

  const NARROW = "\u202f", THIN = "\u2009", SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  function threeFigures(amount) {
    return amount < 9.995 ? amount.toFixed(2) : amount < 99.95 ? amount.toFixed(1) : amount.toFixed(0);
  }

  /** Format nanoseconds with three figures: "1.39 µs". */
  function duration(ns, figures = threeFigures) {
    for (const [factor, unit] of [[1, "ns"], [1e3, "µs"], [1e6, "ms"]]) if (ns / factor < 999.5) return `${figures(ns / factor)} ${unit}`;
    return `${figures(ns / 1e9)} s`;
  }

  /** Format a number of elements: a power of two as "2¹⁰". */
  function elements(numel) {
    const exponent = Math.log2(numel);
    return Number.isInteger(exponent) ? `2${[...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join("")}` : thousands(numel);
  }

  function thousands(number) {
    return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, THIN);
  }

  /** Format a number of bytes in binary units: "4 MiB". */
  function bytes(number) {
    for (const unit of ["B", "KiB", "MiB"]) {
      if (number < 1024) return `${+number.toPrecision(4)} ${unit}`;
      number /= 1024;
    }
    return `${+number.toPrecision(4)} GiB`;
  }

  /** Format a ratio as a change: "+12.3 %", "−4.0 %", "+139.0 %". */
  function percent(ratio) {
    const text = (100 * (ratio - 1)).toFixed(1);
    return `${Number(text) < 0 ? "−" : Number(text) ? "+" : ""}${text.replace("-", "")}${NARROW}%`;
  }

  /** Format a value in a unit of the state. */
  function quantity(value, unit) {
    if (unit === "time") return duration(value);
    if (unit === "percent") return percent(value);
    return /allocated$|peak$/.test(unit) ? bytes(value) : thousands(value);
  }

  /* ---- data ---- */

  /** One machine's cases. Counts are added when they are loaded. */
  class Machine {
    constructor(data) {
      Object.assign(this, { name: data.machine, label: data.label || data.machine, folder: data.folder, releases: data.releases, dates: data.dates, pythons: data.pythons });
      Object.assign(this, { devices: {}, methods: {}, cases: new Map(), loaded: new Set() });
      this.comparisonFolders = data.comparison_folders;
      this.comparisons = Object.fromEntries(Object.entries(data.comparisons).map(([python, pairs]) => [python, new Set(pairs.map(String))]));
      this.machines = data.machines || [];
      this.numels = {}; // by group, of times that are loaded when they are chosen
      this.add(data);
    }

    add(data) {
      this.loaded.add(data.quantity);
      this.methods = { ...data.methods, ...this.methods };
      Object.assign(this.devices, data.devices);
      if (data.machines) this.machines = data.machines;
      for (const [group, sizes] of Object.entries(data.numels || {})) this.numels[group] = [...(this.numels[group] || []), ...sizes];
      for (const row of data.cases) {
        const entry = { ...CASE, ...row, group: data.methods[row.method].group, numel: String(row.numel) };
        entry.columns = this.columns(row.values);
        [entry.suiteName, entry.suiteFolder] = data.suites[row.suite];
        this.cases.set(placeKey(entry, entry.method), entry);
      }
    }

    /** Return by Python the values, half the widths of their intervals and the smallest detectable changes at every release. */
    columns(byPython) {
      const size = this.releases.length, result = {};
      for (const [python, [first, ...columns]] of Object.entries(byPython)) {
        result[python] = columns.map((column) => {
          const all = new Array(size).fill(null);
          column.forEach((value, index) => (all[first + index] = value));
          return all;
        });
      }
      return result;
    }

    /** Return the case of a method at the place of a state. */
    at(state, method) {
      return this.cases.get(placeKey({ ...state, quantity: quantityOf(state.unit) }, method));
    }

    /** Return the values of an axis, those that this machine measured. */
    values(axis, matches = () => true) {
      const values = [...new Set([...this.cases.values()].filter(matches).map((entry) => entry[axis]))];
      return axis === "numel" ? values.sort((a, b) => a - b) : values;
    }

    /** Return the groups and, of one, the sizes: also those that are not loaded yet. */
    groups() {
      return [...new Set([...this.values("group"), ...Object.keys(this.numels)])];
    }

    sizes(group) {
      return [...new Set([...this.values("numel", (entry) => entry.group === group), ...(this.numels[group] || []).map(String)])].sort((a, b) => a - b);
    }

    /** Return the methods of a group, in the order of the registry. */
    methodsOf(group) {
      return Object.keys(this.methods).filter((name) => this.methods[name].group === group);
    }

    code(method, device) {
      const row = this.methods[method] || {};
      return (device !== "cpu" && row.code_on_device) || row.code || method;
    }

    /** Return the address of the permanent comparison of two releases, given by index; "" without one. */
    comparison(python, before, after) {
      const [first, second] = before < after ? [before, after] : [after, before];
      const exists = this.comparisons[python] && this.comparisons[python].has(String([first, second]));
      return exists ? `${this.comparisonFolders[python]}/${this.releases[first]}..${this.releases[second]}.html` : "";
    }
  }

  function placeKey(place, method) {
    return [...PLACE.map((axis) => place[axis]), method].join("|");
  }

  function quantityOf(unit) {
    return TIME_UNITS.includes(unit) ? "time" : unit;
  }

  /** Return a case's values at every release: of one Python, or of all Pythons joined.

  `drawn` are on one axis, `measured` as measured; `within` is the upper end of the interval over the value, and the value over the lower end;
  `detect` is the ratio to the release before that would have been seen, either way. */
  function lineOf(machine, entry, python) {
    const line = { entry, machine };
    for (const name of LINE) line[name] = new Array(machine.releases.length).fill(null);
    const take = (name, factor, end) => {
      const [values, halves, detect] = entry.columns[name] || [[]];
      for (let index = 0; index < end; index++) {
        const value = values[index] ?? null;
        line.measured[index] = value;
        line.drawn[index] = value === null ? null : value * factor;
        line.within[index] = value === null ? null : 1 + (halves ? halves[index] : 0) / UNIT;
        line.detect[index] = detect && detect[index] ? 1 + detect[index] / UNIT : null;
        line.python[index] = value === null ? null : name;
        line.unpaired[index] = (entry.unpaired || []).includes(index);
      }
    };
    take(python || machine.pythons.find((name) => entry.columns[name]), 1, machine.releases.length);
    let factor = 1;
    for (const [release, older, scale] of python ? [] : entry.joints || []) {
      take(older, (factor *= scale), release);
      const detect = (entry.columns[older][2] || [])[release];
      if (detect) line.detect[release] = 1 + detect / UNIT; // the release before is of the older Python
    }
    line.joints = python ? [] : (entry.joints || []).map(([release]) => release);
    line.steps = (entry.steps || []).map(stepOf).filter((step) => !python || step.python === python);
    return line;
  }

  function stepOf([release, ratio, size, python, said = {}]) {
    return { release, ratio, size, python, ...said };
  }

  /** Return a line with its values at other releases: `index` maps a release to its place, of `size` places. */
  function realigned(line, index, size) {
    const moved = { ...line };
    const place = line.machine.releases.map((release) => index.get(release));
    for (const name of LINE) {
      moved[name] = new Array(size).fill(null);
      line[name].forEach((value, at) => (moved[name][place[at]] = value));
    }
    moved.steps = line.steps.map((step) => ({ ...step, release: place[step.release] }));
    moved.joints = line.joints.map((at) => place[at]);
    return moved;
  }

  /** Return the values to draw in a unit, each null where it is unknown. */
  function valuesIn(line, unit, base) {
    if (unit === "percent") return line.drawn.map((value, index) => (value && line.drawn[base] && comparable(line, index, base) ? value / line.drawn[base] : null));
    return line.drawn;
  }

  /** Return whether the times of two releases of a line may be compared: both took turns with others, or neither did. */
  function comparable(line, index, other) {
    return !line.unpaired[index] === !line.unpaired[other];
  }

  /** Return the index of the last release before `index` at which a line has a value; -1 for none. */
  function previous(line, index) {
    for (let at = index - 1; at >= 0; at--) if (line.drawn[at] !== null) return at;
    return -1;
  }

  /* ---- state ---- */

  /** Return the state in a fragment, "group=copies&numel=1024"; null where it has none. */
  function parsed(fragment) {
    const state = { ...STATE }, parameters = new URLSearchParams(fragment.replace(/^#/, ""));
    let known = false;
    for (const [name, value] of parameters) {
      if (!Object.hasOwn(STATE, name)) continue;
      known = true;
      state[name] = name === "method" ? value.split(",").filter(Boolean) : value;
    }
    return known ? state : null;
  }

  /** Return the fragment of a state. */
  function fragment(state, machine) {
    const all = machine.methodsOf(state.group).filter((method) => machine.at(state, method));
    const parts = [];
    for (const [name, value] of Object.entries(state)) {
      const text = name === "method" ? (value.length < all.length ? value.join(",") : "") : value;
      if (name === "group" || (text && text !== STATE[name])) parts.push(`${name}=${encodeURI(text).replace(/[+&#]/g, encodeURIComponent)}`);
    }
    return parts.join("&");
  }

  /** Return a state whose place was measured: itself, or the nearest; null where nothing is near. */
  function measuredState(machine, state, fixed = []) {
    const methods = state.method.length ? state.method : machine.methodsOf(state.group);
    const here = methods.filter((method) => machine.at(state, method));
    if (here.length) return { ...state, method: here };
    const entry = nearest(machine, state, fixed);
    if (!entry) return null;
    const place = Object.fromEntries(Object.keys(DISTANCE).filter((axis) => axis !== "quantity").map((axis) => [axis, entry[axis]]));
    const moved = { ...state, ...place, method: [] };
    const all = machine.methodsOf(moved.group).filter((method) => machine.at(moved, method));
    const same = all.filter((method) => methods.includes(method));
    return { ...moved, method: same.length ? same : all };
  }

  /** Return the case nearest to a state among those that share its unit and the values of some axes. */
  function nearest(machine, state, fixed) {
    const target = { ...state, quantity: quantityOf(state.unit) };
    let best = null, least = Infinity;
    for (const entry of machine.cases.values()) {
      if (entry.quantity !== target.quantity || fixed.some((axis) => entry[axis] !== target[axis])) continue;
      let distance = state.method.includes(entry.method) ? 0 : 0.5;
      for (const [axis, weight] of Object.entries(DISTANCE)) {
        if (axis === "numel") distance += Math.abs(Math.log2(entry.numel / target.numel));
        else if (entry[axis] !== target[axis]) distance += weight;
      }
      if (distance < least) [best, least] = [entry, distance];
    }
    return best;
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
    if (unit === "time") return value ? duration(value, plain) : "0";
    if (unit === "percent") return Math.abs(value - 1) < 1e-9 ? "0" : `${value < 1 ? "−" : "+"}${plain(Math.abs(100 * (value - 1)))}\u202f%`;
    if (/allocated$|peak$/.test(unit)) return bytes(value);
    return value >= 1e6 ? `${plain(value / 1e6)} M` : value >= 1e4 ? `${plain(value / 1e3)} k` : plain(value);
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1), below = Math.floor(at);
    return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  }

  /** Return the range of an axis without far outliers. Changes and the newest value are never outliers. */
  function robustRange(lines, first, last, logarithmic) {
    const logs = [], always = [];
    for (const line of lines) {
      const steps = new Set(line.steps.map((step) => step.release));
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

  /** Shorten a code to the names that it calls: "clone.detach" for `x.clone().detach()`. */
  function shortName(code) {
    let text = code;
    for (let before = ""; text !== before; ) [before, text] = [text, text.replace(/\([^()]*\)/g, "")];
    return text.replace(/^(x|torch|np|copy)\./, "");
  }

  /** Return the top of each label so that none overlaps another, all lie between 0 and `bottom`, and each is as near as can be to its `middle`. */
  function spread(labels, bottom) {
    const place = (members) => {
      const height = members.reduce((sum, label) => sum + label.height, 0);
      let offset = 0, wanted = 0;
      for (const label of members) [wanted, offset] = [wanted + label.middle - label.height / 2 - offset, offset + label.height];
      return { members, height, top: Math.max(0, Math.min(wanted / members.length, bottom - height)) };
    };
    const groups = [];
    for (const label of [...labels].sort((a, b) => a.middle - b.middle)) {
      let group = place([label]);
      while (groups.length && groups.at(-1).top + groups.at(-1).height > group.top) group = place([...groups.pop().members, ...group.members]);
      groups.push(group);
    }
    const tops = new Map();
    for (const { members, top } of groups) members.reduce((at, label) => { tops.set(label, at); return at + label.height; }, top);
    return labels.map((label) => tops.get(label));
  }

  /* ---- loading ---- */

  const machines = new Map(), waiting = new Map();

  /** Take the data of a machine; the scripts `times.js` and `counts.js` call it. */
  function receive(data) {
    const machine = machines.get(data.machine);
    if (machine) machine.add(data);
    else machines.set(data.machine, new Machine(data));
    return machines.get(data.machine);
  }

  /** Load a script once. */
  function load(address) {
    if (!waiting.has(address)) {
      waiting.set(address, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = address;
        script.addEventListener("load", resolve);
        script.addEventListener("error", () => { waiting.delete(address); reject(new Error(address)); }); // the next choice tries again
        document.head.append(script);
      }));
    }
    return waiting.get(address);
  }

  return {
    STATE, TIME_UNITS, machines, receive, load, parsed, fragment, measuredState, quantityOf, lineOf, realigned, valuesIn, previous, comparable,
    robustRange, ticks, tickText, shortNames, shortName, spread,
    text: { duration, elements, percent, quantity },
  };
})();
