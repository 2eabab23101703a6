/* The axes, colours and small texts of the history chart: functions without state. */
"use strict";

const historyAxes = (() => {
  const { text: format } = tensorHistory;
  const { drawing, element } = historyControls;
  const FLAG_ROW = 27, NAME_GAP = 14; // px: of the rows of flags above the plot, and from the plot to the names at the ends of the lines
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
    for (const name of ["quiet", "rule", "paper", "accent"]) colours[name] = colour(name);
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

  /** Allow line breaks before each call of a code, but not after `x` or `np`, and after "=". */
  function breakable(code) {
    const [head, ...calls] = code.split(/(?=\.)|(?<==)/), made = element("code", {}, head);
    calls.forEach((call, index) => made.append(...(index === 0 && head.length <= 2 ? [call] : [element("wbr"), call])));
    return made;
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

  return { FLAG_ROW, NAME_GAP, breakable, miniatureOf, palette, robustRange, shortName, shortNames, spread, tickText, ticks, withAlpha };
})();
