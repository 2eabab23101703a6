/* The interactive chart of a history over the releases: lines, reading, comparing. chart.js has the data and the state, page.js makes elements.

Every element .history-chart becomes a chart; data-mode decides which controls it has:
  explorer   all of them
  landing    the usual ones, of one device, which a tab of the page chooses; a link leads to the same state in the explorer
The state is in the fragment of the address, so that a chart that was chosen can be linked to, and the browser's back button leads to the one before.
*/
"use strict";

(() => {
  const { STATE, TIME_UNITS, robustRange, shortName, shortNames, spread, text: format, tickText, ticks } = tensorHistory;
  const PLACE_FIELDS = ["group", "numel", "grad", "dtype", "layout", "device", "timed"];
  const ROW = ["group", "numel", "grad", "unit", "machine"]; // fields that are always shown
  const MORE = ["dtype", "layout", "device", "timed", "scale", "python", "over"]; // of the explorer
  const ALWAYS = { device: ["cpu", "cuda", "mps", "xpu"], grad: ["no", "yes"] }; // shown where they were not measured, too
  const DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"];
  const COLOURS = 5;
  const PHONE = "(max-width: 40rem)";
  const FONT = 13, TALL = 420, LOW = 360, BACK = 0.3;
  const TICK = 11, NAME_GAP = 14; // px: the height of a change's tick below the axis, and from the plot to the names at the ends of the lines
  const SHARE = 0.3; // of the chart that names take at most
  const NEAR = 24; // px from a line at which the pointer is at it

  /* ---- words ---- */

  const ENGLISH = {
    group: "what", numel: "size", grad: "grad", and: ", ", dtype: "dtype", layout: "layout", device: "device", timed: "timed",
    python: "Python", unit: "show", scale: "axis", over: "overlay", machine: "machine", joined: "joined", none: "none", yes: "yes", no: "no", log: "log", linear: "linear",
    copies: "copies", conversions: "conversions", primitives: "primitives", alternatives: "alternatives", transfers: "transfers", own: "own operations", throughput: "in a row", latency: "waited for after each call",
    time: "time", percent: "%", instructions: "instructions", allocated: "bytes", peak: "peak", allocations: "allocations",
    device_allocated: "device bytes", device_peak: "device peak", device_allocations: "device allocations", cuda_peak: "CUDA peak",
    more: "More", reset: "Show all releases", reader: "torch release", link: "Link to this chart", shown: (code) => `show ${code}`,
    shows: (what) => `shows ${what}`, moved: (asked, what) => `${asked} was not measured with these settings. Shown: ${what}.`,
    previous: "vs previous", release: "torch", ratio: "ratio", compare: "Compare", with: "with", clear: "Clear",
    page: "Comparison of all cases", cases: "all cases", overlap: "≈: the intervals overlap.", notMeasured: "not measured", unpaired: "unpaired: measured alone", apart: "not compared",
    outside: (value) => `outside the plotted range: ${value}`, table: "Values shown", sizes: "All sizes: choose one",
    explore: "Explore every method, size and dtype",
    scaledBy: (python, factor) => `Python ${python}, drawn × ${factor}`, noData: "The data could not be loaded.",
    against: (release) => `change from torch ${release}`, perCall: "time per call",
    dashed: "Dashed: an older Python, scaled.", dotted: (over) => `Dotted: ${over}.`,
    band: "At a line: its 95 % interval, for comparing releases.", zone: "At a line: its 95 % interval, for comparing releases, and, paler, the changes from the release before that are not seen 9 times in 10.",
    change: (up, size, within) => `${up ? "slower" : "faster"} by ${size}${within}`, within: (low, high) => ` (${low} to ${high} %)`, count: (size, what) => `${size} ${what}`,
    than: (release) => ` than ${release}`, beside: (release) => ` against ${release}`, only: (python) => ` on Python ${python} only`, until: (release) => `, until ${release}`, around: ", shown by the releases around only",
    seen: "seen 9 in 10", changed: "▲ ▼ at the axis: releases with a change, up or down.",
    help: "Point or ← → to read a release. Click (Enter) on two to compare, Escape clears. Drag (+ − 0) to zoom.",
    tap: "Touch the chart and slide to read a release.", line: "method",
  };
  const JAPANESE = { // what the landing page shows; the explorer is in English
    group: "対象", numel: "要素数", grad: "勾配", unit: "表示", machine: "マシン", and: "、", none: "なし", yes: "あり", no: "なし",
    copies: "コピー", conversions: "ndarray への変換", primitives: "基本操作", alternatives: "代替手段", transfers: "転送", own: "独自の操作",
    time: "時間", instructions: "命令数", allocated: "割り当てバイト数", peak: "ピークメモリ", allocations: "割り当て回数",
    timed: "計測", throughput: "連続呼び出し", latency: "呼び出しごとに完了を待つ",
    device_allocated: "デバイスの割り当てバイト数", device_peak: "デバイスのピーク", device_allocations: "デバイスの割り当て回数", cuda_peak: "CUDA のピーク",
    reset: "全リリースを表示", reader: "torch のリリース", link: "このグラフへのリンク", shown: (code) => `${code} を表示`,
    shows: (what) => `${what} を表示`, moved: (asked, what) => `${asked} はこの条件では測定していません。${what} を表示しています。`,
    previous: "前リリース比", ratio: "比", compare: "比較", with: "と", clear: "解除",
    page: "全ケースの比較", cases: "全ケース", overlap: "≈：信頼区間が重なっています。", notMeasured: "未測定", unpaired: "対応なし（単独で測定）", apart: "比較不可",
    outside: (value) => `表示範囲外：${value}`, explore: "すべての方法・サイズ・dtype を見る",
    scaledBy: (python, factor) => `Python ${python}、× ${factor} で描画`, noData: "データを読み込めませんでした。",
    against: (release) => `torch ${release} からの変化`, perCall: "1 回の呼び出しの時間",
    dashed: "破線：古い Python（換算値）。", dotted: (over) => `点線：${over}。`,
    band: "線を指すとリリース間の比較用の 95 % 信頼区間を示します。", zone: "線を指すとリリース間の比較用の 95 % 信頼区間と、前リリースとの差を検出できない範囲（淡い領域）を示します。",
    change: (up, size, within) => `${size} ${up ? "遅くなった" : "速くなった"}${within}`, within: (low, high) => `（${low} ～ ${high} %）`, count: (size, what) => `${what} ${size}`,
    than: (release) => `（${release} に対して）`, beside: (release) => `（${release} に対して）`, only: (python) => `（Python ${python} のみ）`, until: (release) => `、${release} で元の水準に戻る`, around: "、前後のリリースからのみ判明",
    seen: "9/10 で検出", changed: "横軸の ▲ ▼ は、値が上がったリリースと下がったリリースです。",
    help: "リリースを指すか ← → キーで値を読みます。2 つのリリースをクリック（または Enter）で比較、Esc で解除。ドラッグで拡大（+ − 0 キー）。",
    tap: "グラフに触れて左右に動かすと値を読めます。", line: "方法",
  };
  const words = { ...ENGLISH, ...(document.documentElement.lang === "ja" ? JAPANESE : {}) };
  const wordOf = (value) => (typeof words[value] === "string" ? words[value] : value);

  /** Return the text of a field's value, as its button has it. */
  function label(field, value, machine) {
    if (field === "numel") return Number(value) > 0 ? format.elements(Number(value)) : value;
    if (field === "method") return machine.code(value, "cpu");
    if (field === "python") return value || words.joined;
    if (field === "over") return value.replace(/^(machine|device):/, "").replace("python:", "Python ") || words.none;
    return ["dtype", "layout", "device", "machine"].includes(field) ? value : wordOf(value);
  }

  /* ---- elements ---- */

  /** Return an SVG element. */
  function drawing(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  /** Return the mark of a line. */
  function markOf(line) {
    return drawing("svg", { class: "hc-mark", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, drawing("path", { class: `mark s${line.colour}`, d: line.shape }));
  }

  /** Allow line breaks before each call of a code, but not after `x` or `np`, and after "=". */
  function breakable(code) {
    const [head, ...calls] = code.split(/(?=\.)|(?<==)/), made = element("code", {}, head);
    calls.forEach((call, index) => made.append(...(index === 0 && head.length <= 2 ? [call] : [element("wbr"), call])));
    return made;
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

  /* ---- controls ---- */

  /** The selects of a chart. */
  class Controls {
    constructor(chart) {
      this.chart = chart;
      const field = (name) => {
        const select = element("select", { onchange: () => chart.choose(name, select.value) });
        return [name, { select, box: element("label", { class: "hc-field" }, element("span", {}, words[name]), select) }];
      };
      const row = ROW.map(field), more = chart.mode === "explorer" ? MORE.map(field) : [];
      this.fields = new Map([...row, ...more]);
      this.summary = element("summary", {});
      const boxes = (fields) => fields.map(([, { box }]) => box);
      this.details = element("details", { class: "hc-more", hidden: !more.length }, this.summary, element("div", { class: "hc-controls" }, ...boxes(more)));
      this.box = element("div", { class: "hc-controls" }, ...boxes(row), this.details, chart.address);
    }

    update() {
      const { state } = this.chart;
      for (const [name, { select, box }] of this.fields) {
        const values = this.values(name);
        box.hidden = values.length < 2;
        select.replaceChildren(...values.map((value) => this.option(name, value)));
        select.value = this.current(name);
      }
      const others = MORE.filter((name) => state[name] !== STATE[name]).map((name) => label(name, state[name], this.chart.machine));
      this.summary.textContent = [words.more, others.join(" · ")].filter(Boolean).join(": ");
    }

    current(name) {
      return name === "machine" ? this.chart.machine.name : this.chart.state[name];
    }

    /** Return an option; one that was not measured with these settings names what it leads to, or cannot be chosen. */
    option(name, value) {
      const { chart } = this, place = value === this.current(name) ? { here: true } : chart.reached(name, value);
      const note = !place ? words.notMeasured : place.here ? "" : words.shows(place.what);
      return element("option", { value, disabled: !place }, [label(name, value, chart.machine), note].filter(Boolean).join(" – "));
    }

    values(name) {
      const { machine, state } = this.chart;
      if (name === "group") return machine.groups().sort((a, b) => order(a) - order(b));
      if (name === "numel") return machine.sizes(state.group);
      if (name === "python") return machine.pythons.length > 1 ? ["", ...machine.pythons] : [];
      if (name === "unit") return [...TIME_UNITS, ...this.chart.countUnits()];
      if (name === "scale") return ["log", "linear"];
      if (name === "over") return this.chart.overlays();
      if (name === "machine") return machine.machines.map(([other]) => other);
      const inTime = (entry) => entry.quantity === "time" || name === "device";
      const values = machine.values(name, inTime);
      if (name === "dtype") values.sort((a, b) => DTYPES.indexOf(a) - DTYPES.indexOf(b));
      return [...(ALWAYS[name] || []), ...values.filter((value) => !(ALWAYS[name] || []).includes(value))];
    }
  }

  function order(group) {
    return ["copies", "conversions", "primitives", "alternatives", "transfers", "own"].indexOf(group);
  }

  /** Return the tab of a device on the landing page. */
  function tabOf(device) {
    return document.querySelector(`input[name=device][value="${device}"]`);
  }

  /* ---- the chart ---- */

  class HistoryChart {
    constructor(host, data) {
      this.host = host;
      this.mode = host.dataset.mode;
      this.initial = this.mode === "explorer" ? null : tensorHistory.parsed(host.dataset.explorer.split("#")[1] || "");
      this.id = host.dataset.source || "history";
      this.shapes = host.dataset.shapes.split("|");
      this.root = host.dataset.root;
      [this.machine, this.other] = data;
      this.build();
      this.colours = palette();
      this.watch();
      this.restore();
    }

    /* -- building -- */

    build() {
      this.address = element("a", { class: "hc-link" }, words.link);
      this.controls = new Controls(this);
      this.note = element("p", { class: "hc-note", role: "status" });
      this.canvas = element("div", { class: "hc-canvas", "aria-hidden": "true" });
      this.marks = element("div", { class: "hc-layer", "aria-hidden": "true" });
      this.labels = element("div", { class: "hc-layer" });
      this.reader = element("div", { class: "hc-reader", role: "slider", tabindex: "0", "aria-label": words.reader, "aria-describedby": `${this.id}-help`, onkeydown: (event) => this.key(event) });
      this.plot = element("div", { class: "hc-plot" }, this.canvas, this.reader, this.marks, this.labels);
      this.title = element("p", { class: "hc-title" });
      this.reset = element("button", { type: "button", class: "hc-reset", hidden: true, onclick: () => this.zoom(0, this.axis.length - 1) }, words.reset);
      this.readout = element("div", { class: "hc-readout" });
      this.comparison = element("div", { class: "hc-comparison" });
      this.strip = element("div", { class: "hc-strip", role: "group", "aria-label": words.sizes });
      this.table = element("div", { class: "hc-table" });
      const help = element("p", { class: "hc-help", id: `${this.id}-help` }, matchMedia("(pointer: coarse)").matches ? words.tap : words.help);
      this.legend = element("span", {});
      help.append(" ", this.legend);
      const head = element("div", { class: "hc-head" }, this.title, this.reset);
      const left = element("div", { class: "hc-left" }, head, this.plot, help);
      const side = element("div", { class: "hc-side" }, this.readout, this.comparison);
      const phone = matchMedia(PHONE).matches; // there the controls are under the chart, near the thumb
      const parts = phone ? [this.note, left, this.controls.box, side] : [this.controls.box, this.note, element("div", { class: "hc-body" }, left, side)];
      if (this.mode === "explorer") parts.push(this.strip, this.table);
      else parts.push(element("p", {}, (this.link = element("a", {}, words.explore))));
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
      addEventListener("hashchange", () => this.restore());
      this.touch();
      this.followTab();
    }

    /** Put the state into the address when the tab of this chart's device is chosen: on the landing page each device has a chart. */
    followTab() {
      this.tab = this.mode === "landing" && tabOf(this.initial.device);
      this.fixed = this.tab ? ["device"] : [];
      if (this.tab) this.tab.addEventListener("change", () => this.state && this.keep(`#${tensorHistory.fragment(this.state, this.machine)}`, false));
    }

    /* -- state -- */

    /** Take the state from the address, or the first one. */
    restore() {
      const asked = tensorHistory.parsed(location.hash), isOthers = this.tab && asked && asked.device !== this.initial.device;
      if (this.state && (isOthers || (!asked && location.hash))) return; // of another device's chart, or an anchor of the page, such as #content
      if (this.tab && (asked ? !isOthers : this.tab.defaultChecked)) this.tab.checked = true;
      const state = (!isOthers && asked) || this.initial || { ...STATE, group: this.firstGroup() };
      if (this.other && !state.over) state.over = `machine:${this.other.name}`;
      this.ask(state, { stays: true });
    }

    firstGroup() {
      return this.machine.groups().sort((a, b) => order(a) - order(b))[0];
    }

    /** Load what a state needs and show it, unless another is asked for meanwhile, which has the choices of this one, too. */
    async ask(state, options = {}) {
      this.asked = state;
      const complete = await this.needed(state);
      if (this.asked !== state) return;
      if (complete) return this.show(state, options);
      this.show(this.state || { ...state, unit: "time", grad: "no", over: "" }, { stays: true });
      this.note.textContent = words.noData;
    }

    /** Load what a state needs and is not here: other times, counts, another machine. Return whether all is here. */
    async needed(state) {
      const scripts = [], counted = !TIME_UNITS.includes(state.unit), [kind, name] = state.over.split(/:(.*)/);
      const lacks = (machine) => counted && !(machine && machine.loaded.has("counts"));
      if (lacks(this.machine)) scripts.push(`${this.machine.folder}counts.js`);
      const hasTimes = (machine) => machine.loaded.has("times") || machine.methodsOf(state.group).some((method) => machine.at({ ...state, unit: "time" }, method));
      for (const machine of [this.machine, this.other]) if (machine && !hasTimes(machine)) scripts.push(`${machine.folder}times.js`);
      const own = this.other && this.other.name === name && [name, this.other.folder];
      const row = kind === "machine" && (this.machine.machines.find(([other]) => other === name) || own);
      if (row && !tensorHistory.machines.has(name)) scripts.push(`${row[1]}times.js`);
      if (row && lacks(tensorHistory.machines.get(name))) scripts.push(`${row[1]}counts.js`);
      try {
        for (const script of scripts) await tensorHistory.load(`${this.root}${script}`);
        return true;
      } catch {
        return false;
      }
    }

    /** Show a state, or the nearest that was measured.

    fixed : fields that must not move; name : of the field that was chosen; stays : whether the address is not that of another choice */
    show(asked, { fixed = [], name = "", stays = false } = {}) {
      const clean = this.checked(asked);
      const nearest = tensorHistory.measuredState(this.machine, clean, [...fixed, ...this.fixed]) || tensorHistory.measuredState(this.machine, clean, this.fixed);
      if (!nearest) return this.show({ ...STATE, ...this.initial, over: "" }, { stays });
      const state = this.withValues(nearest);
      const moved = [...PLACE_FIELDS.filter((field) => state[field] !== asked[field]), ...["python", "unit"].filter((field) => state[field] !== clean[field])];
      this.note.textContent = moved.length ? words.moved(this.describe(asked, name ? [name] : moved), this.describe(state, moved)) : "";
      this.state = this.asked = state;
      this.keep(`#${tensorHistory.fragment(state, this.machine)}`, stays);
      this.render();
    }

    /** Put a state's fragment into the address and the links: a choice is a step of the browser's history. */
    keep(fragment, stays) {
      if (!stays && fragment !== location.hash) history.pushState(null, "", fragment);
      else if (this.mode === "explorer" || tensorHistory.parsed(location.hash)) history.replaceState(null, "", fragment);
      this.address.href = fragment;
      if (this.link) this.link.href = this.host.dataset.explorer.replace(/#.*|$/, fragment);
    }

    /** Return a state without a Python that none of its methods has. */
    withValues(state) {
      const entries = state.method.map((method) => this.machine.at(state, method));
      const python = entries.some((entry) => entry.columns[state.python]) ? state.python : "";
      return { ...state, python };
    }

    /** Return a state without sizes, releases, Pythons and overlays that do not exist. */
    checked(state) {
      const over = this.overlays(state).includes(state.over) ? state.over : "", overlay = tensorHistory.machines.get(over.replace("machine:", ""));
      const known = (value) => ([this.machine, overlay].some((machine) => machine && machine.releases.includes(value)) ? value : "");
      const cleaned = { ...state, over, base: known(state.base), with: known(state.with), from: known(state.from), to: known(state.to) };
      if (!(Number(state.numel) > 0 && Number(state.numel) < Infinity)) cleaned.numel = STATE.numel;
      if (!this.machine.groups().includes(state.group)) cleaned.group = this.firstGroup();
      if (!this.machine.pythons.includes(state.python)) cleaned.python = "";
      if (state.scale !== "linear") cleaned.scale = "log";
      if (![...TIME_UNITS, ...this.countUnits()].includes(state.unit)) cleaned.unit = "time";
      return cleaned;
    }

    /** Change one field. */
    choose(name, value, on) {
      if (name === "machine") return this.toMachine(value);
      const state = { ...this.asked };
      if (name === "method") {
        const chosen = on ? [...state.method, value] : state.method.filter((method) => method !== value);
        state.method = this.machine.methodsOf(state.group).filter((method) => (chosen.length ? chosen : state.method).includes(method));
        if (on && !this.machine.at(this.state, value)) state.method = [value];
      } else state[name] = value;
      if (name === "group") state.method = [];
      const fixed = PLACE_FIELDS.includes(name) ? [name] : [];
      return this.ask(state, { fixed, name });
    }

    toMachine(name) {
      const row = this.machine.machines.find(([other]) => other === name);
      this.controls.update(); // for the way back
      if (row) location.href = `${this.root}${row[1]}index.html${location.hash}`;
    }

    /** Return whether choosing a value stays at this place, and else where it leads; null for nowhere. */
    reached(name, value) {
      const { machine, state } = this;
      if (["scale", "over", "machine"].includes(name)) return { here: true };
      if (name === "python") return { here: !value || state.method.some((method) => machine.at(state, method).columns[value]), what: `${words.python} ${words.joined}` };
      if (name === "unit" && !TIME_UNITS.includes(value) && !machine.loaded.has("counts")) return { here: true };
      if (["group", "numel", "grad"].includes(name) && !machine.loaded.has("times")) return { here: true };
      if (name === "method") return machine.at(state, value) ? { here: true } : this.reachedMethod(value);
      const asked = { ...state, [name]: value, ...(name === "group" ? { method: [] } : {}) };
      const nearest = tensorHistory.measuredState(machine, asked, [...(PLACE_FIELDS.includes(name) ? [name] : []), ...this.fixed]);
      if (!nearest) return null;
      const moved = PLACE_FIELDS.filter((field) => nearest[field] !== asked[field]);
      return { here: !moved.length, what: this.describe(nearest, moved) };
    }

    reachedMethod(method) {
      const nearest = tensorHistory.measuredState(this.machine, { ...this.state, method: [method] }, this.fixed);
      if (!nearest || !nearest.method.includes(method)) return null;
      return { here: false, what: this.describe(nearest, PLACE_FIELDS.filter((field) => nearest[field] !== this.state[field])) };
    }

    /** Return fields of a state in words: "2¹⁷, grad no". */
    describe(state, fields) {
      return fields.map((name) => {
        const value = name === "method" ? state.method.map((method) => label(name, method, this.machine)).join(words.and) : label(name, state[name], this.machine);
        return ["method", "numel", "dtype", "layout", "group", "device", "unit"].includes(name) ? value : `${words[name]} ${value}`;
      }).join(words.and);
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

    /** Return the colour and the shape of a method's line: no other method of up to 25 has both. */
    look(method) {
      const place = Math.max(0, this.machine.methodsOf((this.machine.methods[method] || {}).group).indexOf(method));
      const round = Math.floor(place / COLOURS);
      return { colour: 1 + (place % COLOURS), shape: this.shapes[(place + round) % this.shapes.length], again: round > 0 };
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

    /* -- all sizes -- */

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

    /* -- drawing -- */

    render() {
      const { state } = this, release = this.axis && this.axis[this.read];
      if (!state || !this.canvas.clientWidth) return; // its data is loading, or another device is shown
      this.drawn = this.lines();
      this.read = release === undefined ? undefined : this.axis.indexOf(release); // another overlay has other releases
      const base = this.baseIndex();
      for (const line of this.drawn) line.y = tensorHistory.valuesIn(line, state.unit, base);
      this.first = Math.max(0, this.axis.indexOf(state.from));
      this.last = state.to ? this.axis.indexOf(state.to) : this.axis.length - 1;
      if (this.last <= this.first) [this.first, this.last] = [0, this.axis.length - 1];
      this.names = shortNames(this.axis);
      if (this.read === undefined || this.read > this.last || this.read < this.first) this.read = this.newestRead();
      this.controls.update();
      this.title.replaceChildren(...this.heading());
      this.focus = "";
      this.reset.hidden = this.first === 0 && this.last === this.axis.length - 1;
      this.draw();
      this.legend.textContent = this.explanations().join(" ");
      this.showComparison();
      if (this.mode === "explorer") { this.showStrip(); this.showTable(); }
    }

    /** Return sentences on what is drawn beside the lines. */
    explanations() {
      const { drawn } = this, over = drawn.find((line) => line.over);
      return [this.ticks.length && words.changed, TIME_UNITS.includes(this.state.unit) && (this.detects() ? words.zone : words.band), drawn.some((line) => line.joints.length) && words.dashed, over && words.dotted(over.over)].filter(Boolean);
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
      const size = state.group.endsWith("-by-n") ? `n = ${state.numel}` : `${format.elements(Number(state.numel))} ${state.dtype}`, where = machine.devices[state.device] || state.device;
      const unit = state.unit === "percent" ? words.against(this.axis[this.baseIndex()]) : state.unit === "time" ? words.perCall : words[state.unit];
      const facts = [size, state.grad === "yes" ? "requires_grad" : "", state.layout === "contiguous" ? "" : state.layout].filter(Boolean);
      return [element("strong", {}, [wordOf(state.group), ...facts].join(words.and)), ` ${unit} · ${where}`];
    }

    draw() {
      if (this.uplot) this.uplot.destroy();
      const { state } = this, width = Math.max(260, this.canvas.clientWidth || 600);
      const height = this.mode === "explorer" ? Math.max(TALL, Math.min(560, innerHeight * 0.55)) : innerWidth < 640 ? 310 : LOW;
      this.logarithmic = state.scale === "log";
      const [low, high] = robustRange(this.drawn, this.first, this.last, this.logarithmic || state.unit === "percent");
      const to = this.logarithmic ? Math.log10 : (value) => value;
      this.toScale = (value) => (value === null ? null : to(value));
      this.range = [low, high];
      this.arrows = this.outside();
      const values = ticks(low, high, this.logarithmic, Math.max(3, Math.round(height / 70)), state.unit === "percent" ? 1 : 0);
      const texts = values.map((value) => tickText(value, state.unit)), left = Math.round(16 + Math.max(24, ...texts.map((text) => text.length * 6.6)));
      const right = this.makeNames(width);
      this.makeTicks();
      const data = [this.axis.map((_, at) => at), ...this.drawn.map((line) => line.y.map(this.toScale))];
      this.uplot = new uPlot(this.options(width, height, { values, texts, left, right }), data, this.canvas);
      this.over = this.uplot.over;
      this.over.addEventListener("pointerdown", (event) => (this.pressed = event.clientX));
      this.over.addEventListener("click", (event) => this.click(event));
      this.over.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.readAgain());
    }

    /** Place what lies above the drawing, when the drawing has its scales. */
    placed(plot) {
      const place = this.over.getBoundingClientRect(), home = this.plot.getBoundingClientRect();
      const offset = { x: place.left - home.left, y: place.top - home.top };
      this.placeReader(offset, place);
      this.placeNames(offset, place);
      this.placeTicks(offset, place);
      this.drawLeaders(plot, devicePixelRatio);
      this.showRead();
    }

    options(width, height, { values, texts, left, right }) {
      const { colours } = this, font = `${FONT}px system-ui, sans-serif`;
      const [low, high] = this.range, plotted = width - left - right;
      const stride = Math.max(1, Math.ceil(((this.last - this.first + 1) * (6.5 * Math.max(...this.names.map((name) => name.length)) + 4)) / plotted));
      const shown = this.axis.map((_, at) => at).filter((at) => at >= this.first && at <= this.last && (this.last - at) % stride === 0);
      return {
        width, height, legend: { show: false }, padding: [8, right, 0, 0],
        scales: { x: { time: false, range: () => [this.first - 0.5, this.last + 0.5] }, y: { range: () => [low, high].map(this.toScale) } },
        axes: [
          { splits: () => shown, values: (_, at) => at.map((index) => this.names[index]), stroke: colours.quiet, grid: { show: false }, ticks: { show: false }, font, size: 27 + 2 * TICK, gap: 5 + 2 * TICK },
          { splits: () => values.map(this.toScale), values: () => texts, stroke: colours.quiet, grid: { stroke: colours.rule, width: 1 }, ticks: { show: false }, font, size: left, gap: 6 },
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

    /** Draw marked releases and the intervals of the method in front, under the lines. */
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
      for (const line of this.drawn) {
        if (line.over || line.entry.method !== this.focus) continue;
        this.drawBand(plot, line, line.detect, 0.1);
        this.drawBand(plot, line, line.within, 0.2);
      }
      ctx.restore();
    }

    /** Fill the area around a line, from each value over a factor to the value times it. */
    drawBand(plot, line, factors, alpha) {
      const { ctx } = plot, runs = [];
      let run = null;
      line.y.forEach((value, at) => {
        if (value === null || factors[at] === null) { run = null; return; }
        if (!run) runs.push((run = []));
        run.push(at);
      });
      ctx.fillStyle = withAlpha(this.colours.lines[line.colour - 1], alpha);
      const x = (at) => plot.valToPos(at, "x", true), y = (value) => plot.valToPos(this.toScale(value), "y", true);
      for (const points of runs.filter((points) => points.length > 1)) {
        ctx.beginPath();
        points.forEach((at) => ctx.lineTo(x(at), y(line.y[at] * factors[at])));
        [...points].reverse().forEach((at) => ctx.lineTo(x(at), y(line.y[at] / factors[at])));
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
      if (this.ends[0]?.top !== undefined) this.drawLeaders(plot, ratio);
    }

    /** Draw a line: dashed where an older Python was scaled, faint where releases between are missing. */
    drawLine(plot, line, ratio) {
      const { ctx } = plot, newest = line.python.findLast((name) => name !== null), shade = this.shade(line);
      ctx.strokeStyle = this.colours.lines[line.colour - 1];
      ctx.lineJoin = "round";
      let before = -1;
      line.y.forEach((value, at) => {
        if (value === null) return;
        const point = [plot.valToPos(at, "x", true), plot.valToPos(this.toScale(value), "y", true)];
        if (before >= 0) {
          const older = line.python[before] !== newest;
          ctx.lineWidth = (line.over ? 1.2 : 1.9) * ratio;
          ctx.globalAlpha = shade * (at - before > 1 && line.over ? 0.45 : 1);
          ctx.setLineDash(line.over ? [2 * ratio, 3 * ratio] : older ? [5 * ratio, 3 * ratio] : line.again ? [9 * ratio, 2 * ratio] : []);
          ctx.beginPath();
          ctx.moveTo(plot.valToPos(before, "x", true), plot.valToPos(this.toScale(line.y[before]), "y", true));
          ctx.lineTo(...point);
          ctx.stroke();
        }
        before = at;
      });
      ctx.globalAlpha = shade;
      ctx.setLineDash([]);
      line.y.forEach((value, at) => value !== null && this.drawMark(plot, line, at, ratio, line.python[at] !== newest || Boolean(line.over)));
      ctx.globalAlpha = 1;
    }

    /** Return the opacity of a line: others stand back behind the method in front. */
    shade(line) {
      return this.focus && line.entry.method !== this.focus ? BACK : 1;
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

    /** Draw a thin line from the end of each line to its name. */
    drawLeaders(plot, ratio) {
      const { ctx } = plot, { left, top, width } = plot.bbox;
      const x = (at) => plot.valToPos(at, "x", true), y = (value) => Math.max(top, plot.valToPos(this.toScale(value), "y", true));
      ctx.save();
      ctx.lineWidth = ratio;
      for (const { line, at, top: from, height } of this.ends) {
        ctx.strokeStyle = this.colours.lines[line.colour - 1];
        ctx.globalAlpha = 0.6 * this.shade(line);
        ctx.beginPath();
        ctx.moveTo(x(at) + 5 * ratio, y(line.y[at]));
        ctx.lineTo(left + width + 2 * ratio, y(line.y[at]));
        ctx.lineTo(left + width + NAME_GAP * ratio, top + (from + height / 2) * ratio);
        ctx.stroke();
      }
      ctx.restore();
    }

    /* -- names of methods -- */

    /** Make the short name of each line, a link to its history, and return the width that they need; the reading has the codes. */
    makeNames(width) {
      this.ends = this.drawn.filter((line) => !line.over && line.y.slice(this.first, this.last + 1).some((value) => value !== null)).map((line) => {
        const method = line.entry.method, focus = () => this.focusOn(method), blur = () => this.focusOn("");
        const label = element("a", { class: `hc-name s${line.colour}`, href: line.address, title: line.code, "aria-label": line.code, onpointerenter: focus, onpointerleave: blur, onfocus: focus, onblur: blur }, markOf(line), breakable(shortName(line.code)));
        label.style.maxWidth = `${Math.round(SHARE * width)}px`;
        return { line, label };
      });
      this.labels.replaceChildren(...this.ends.map(({ label }) => label));
      return NAME_GAP + Math.max(0, ...this.ends.map(({ label }) => label.offsetWidth));
    }

    /** Place each name beside the last value of its line, and push apart those that would overlap. */
    placeNames(offset, place) {
      for (const end of this.ends) {
        end.at = this.last;
        while (end.line.y[end.at] === null) end.at--;
        end.middle = Math.min(Math.max(this.uplot.valToPos(this.toScale(end.line.y[end.at]), "y"), 0), place.height);
        end.height = end.label.getBoundingClientRect().height;
      }
      spread(this.ends, place.height).forEach((top, index) => {
        this.ends[index].top = top;
        Object.assign(this.ends[index].label.style, { left: `${offset.x + place.width + NAME_GAP}px`, top: `${offset.y + top}px` });
      });
    }

    /* -- ticks of changes -- */

    /** Make a tick for each release at which any line changes up, and one for those that change down. */
    makeTicks() {
      this.ticks = [];
      for (let release = this.first; release <= this.last; release++) {
        const steps = this.drawn.filter((line) => !line.over && line.y[release] !== null).flatMap((line) => line.steps.filter((step) => step.release === release).map((step) => ({ line, step })));
        for (const up of [true, false]) {
          const those = steps.filter(({ step }) => step.ratio > 1 === up);
          if (!those.length) continue;
          const title = [`torch ${this.axis[release]}`, ...those.map((each) => `${each.line.code}: ${this.sentence(each.step)}`)].join("\n");
          const read = () => this.readAt(release);
          this.ticks.push({ release, up, steps: those, tick: element("span", { class: `hc-tick ${this.verdictOf(up)}`, title, onpointerenter: read, onpointerleave: () => this.readAgain(), onclick: read }, up ? "▲" : "▼") });
        }
      }
      this.marks.replaceChildren(...this.ticks.map(({ tick }) => tick));
    }

    /** Place the ticks below the axis, those up above those down. */
    placeTicks(offset, place) {
      for (const { tick, release, up } of this.ticks) {
        Object.assign(tick.style, { left: `${offset.x + this.uplot.valToPos(release, "x")}px`, top: `${offset.y + place.height + 2 + (up ? 0 : TICK)}px` });
      }
      this.marks.append(...this.arrows.map((arrow) => this.arrowTip(arrow, offset)));
    }

    /** Return an element over an arrow that shows its value to the pointer. */
    arrowTip({ line, at, up }, offset) {
      const tip = element("span", { class: "hc-arrow", title: `${line.code}: ${words.outside(this.valueText(line, at))}` });
      Object.assign(tip.style, { left: `${this.uplot.valToPos(at, "x") - 8 + offset.x}px`, top: `${(up ? 0 : this.over.clientHeight - 14) + offset.y}px` });
      return tip;
    }

    /** Return the class of a change's size: only a time is slower or faster. */
    verdictOf(up) {
      if (!TIME_UNITS.includes(this.state.unit)) return "hc-step";
      return `hc-step ${up ? "slower" : "faster"}`;
    }

    /** Return a change in words: "slower by 7.4 % (6.2 to 8.5 %), until 2.13.0". */
    sentence(step) {
      const within = step.within ? words.within(...step.within.map((end) => end.toFixed(1))) : "";
      const isTime = TIME_UNITS.includes(this.state.unit), until = step.until ? words.until(step.until) : "";
      const change = isTime ? words.change(step.ratio > 1, step.size.replace(/[+−*]/g, ""), within) : words.count(step.size, words[this.state.unit]);
      return `${change}${this.conditions(step, isTime ? words.than : words.beside)}${until}${step.around ? words.around : ""}`;
    }

    /** Return the release or Python of a change, where it is not from the one before or not on the newest. */
    conditions(step, against = words.beside) {
      return (step.against ? against(step.against) : "") + (step.only ? words.only(step.only) : "");
    }

    addressOf(address) {
      return address && `${this.root}${address}`;
    }

    /* -- one method -- */

    /** Bring a method's line forward, with its interval; "" for none. */
    focusOn(method) {
      if (this.focus === method) return;
      this.focus = method;
      for (const { line, label } of this.ends) label.classList.toggle("dim", this.shade(line) < 1);
      for (const { tick, steps } of this.ticks) tick.classList.toggle("dim", steps.every(({ line }) => this.shade(line) < 1));
      this.uplot.redraw(false, false);
    }

    /* -- reading -- */

    placeReader(offset, place) {
      Object.assign(this.reader.style, { left: `${offset.x}px`, top: `${offset.y}px`, width: `${place.width}px`, height: `${place.height}px` });
      if (!this.cross) this.cross = element("div", { class: "hc-cross" });
      this.reader.append(this.cross);
    }

    pointed(plot) {
      if (!this.uplot || plot.cursor.left < 0 || plot.cursor.left === undefined) return;
      const at = Math.round(plot.posToVal(plot.cursor.left, "x"));
      if (at >= this.first && at <= this.last && at !== this.read) { this.read = at; this.showRead(); }
      this.focusOn(this.methodNear(at, plot.cursor.top));
    }

    /** Return the method whose line passes nearest to a height at a release; "" where none is near. */
    methodNear(at, top) {
      let method = "", least = NEAR;
      for (const line of this.drawn.filter((each) => !each.over && each.y[at] !== null)) {
        const distance = Math.abs(this.uplot.valToPos(this.toScale(line.y[at]), "y") - top);
        if (distance < least) [method, least] = [line.entry.method, distance];
      }
      return method;
    }

    readAt(at) {
      this.read = Math.min(Math.max(at, this.first), this.last);
      this.showRead();
    }

    readAgain() {
      this.focusOn("");
      if (document.activeElement !== this.reader) this.readAt(this.newestRead());
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return; // the browser's
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
      const values = this.drawn.filter((line) => !line.over || line.y[read]).map((line) => {
        const step = line.steps.find((step) => step.release === read);
        return `${line.code} ${line.over} ${this.valueText(line, read)}${step ? `, ${this.sentence(step)}` : ""}`;
      });
      reader.setAttribute("aria-valuetext", `torch ${axis[read]}: ${values.join("; ")}`);
      const date = this.machine.dates[this.machine.releases.indexOf(axis[read])] || "";
      const head = element("caption", {}, element("strong", {}, `torch ${axis[read]}`), ` ${date}`), evidence = this.evidence(read);
      if (evidence) head.append(" ", element("a", { href: evidence }, words.cases));
      const columns = [words.line, wordOf(this.state.unit), words.previous].map((word) => element("th", { scope: "col" }, word));
      if (this.detects()) columns.push(element("th", { scope: "col", title: words.zone }, words.seen));
      const shown = new Map(this.drawn.filter((line) => !line.over).map((line) => [line.entry.method, line]));
      const rows = this.machine.methodsOf(this.state.group).map((method) => (shown.has(method) ? this.readRow(shown.get(method), read) : this.hiddenRow(method)));
      const focused = this.readout.contains(document.activeElement) && document.activeElement.value;
      this.readout.replaceChildren(element("table", {}, head, element("thead", {}, element("tr", {}, ...columns)), element("tbody", {}, ...rows)));
      if (focused) this.readout.querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
    }

    /** Return the address of the comparison of a release with the one before it. */
    evidence(at) {
      const before = Math.max(-1, ...this.drawn.filter((line) => !line.over && line.y[at] !== null).map((line) => tensorHistory.previous(line, at)));
      return before < 0 ? "" : this.pairAddress(before, at);
    }

    /** Return a check box with a method's mark, which shows or hides its line. */
    checkBox(method, checked, disabled = false) {
      const input = element("input", { type: "checkbox", value: method, disabled, "aria-label": words.shown(this.machine.code(method, this.state.device)), onchange: () => this.choose("method", method, input.checked) });
      input.checked = checked;
      return element("label", { class: "hc-choose" }, input, markOf(this.look(method)));
    }

    /** Return the row of a method without a line: hidden, or not measured with these settings. */
    hiddenRow(method) {
      const place = this.reached("method", method), code = breakable(this.machine.code(method, this.state.device));
      const note = !place ? words.notMeasured : place.here ? "" : words.shows(place.what);
      return element("tr", { class: "hc-off" }, element("th", { scope: "row" }, this.checkBox(method, false, !place), code, element("small", {}, note)), element("td", { colspan: this.detects() ? 3 : 2 }));
    }

    /** Return whether the smallest detectable change of any line is known. */
    detects() {
      return this.drawn.some((line) => line.detect.some(Boolean));
    }

    valueText(line, at) {
      const { unit } = this.state;
      if (line.y[at] === null || line.y[at] === undefined) return words.notMeasured;
      return format.quantity(unit === "percent" ? line.y[at] : line.measured[at], unit);
    }

    readRow(line, at) {
      const { unit } = this.state, before = tensorHistory.previous(line, at), method = line.entry.method;
      const known = line.measured[at] !== null && line.measured[at] !== undefined;
      const step = line.steps.find((step) => step.release === at);
      const details = [];
      if (known && unit === "percent") details.push(format.duration(line.measured[at]));
      const factor = known ? line.drawn[at] / line.measured[at] : 1;
      if (Math.abs(factor - 1) > 0.0005) details.push(words.scaledBy(line.python[at], factor.toFixed(3)));
      const name = element("a", { href: line.address }, breakable(line.code));
      const error = known && line.within[at] > 1 ? element("small", {}, `±${format.percent(line.within[at]).slice(1)}`) : null;
      const seen = this.detects() ? element("td", {}, known && line.detect[at] ? format.percent(line.detect[at]).slice(1) : "") : null;
      if (known && line.unpaired[at]) details.push(words.unpaired);
      const isCompared = before >= 0 && known && line.y[at] && line.y[before];
      const change = !isCompared ? "" : tensorHistory.comparable(line, at, before) ? format.percent(line.y[at] / line.y[before]) : words.apart;
      const small = element("small", {}, details.join(" · "));
      const others = this.drawn.filter((other) => other.over && other.entry.method === line.entry.method && other.y[at]).map((other) => this.readOver(other, line, at));
      const over = { onpointerenter: () => this.focusOn(method), onpointerleave: () => this.focusOn(""), onfocusin: () => this.focusOn(method), onfocusout: () => this.focusOn("") };
      return element("tr", over, element("th", { scope: "row" }, this.checkBox(method, true), name, small, ...others), element("td", {}, this.valueText(line, at), error), element("td", {}, step ? this.stepMark(step) : change), seen);
    }

    /** Return a change of a line with its sign. */
    stepMark(step) {
      return element("span", { class: this.verdictOf(step.ratio > 1), title: this.sentence(step) }, `${step.ratio > 1 ? "▲" : "▼"} ${step.size}${this.conditions(step)}`);
    }

    /** Return a line's value of an overlay, as a share of the line below it. */
    readOver(other, line, at) {
      const share = line.measured[at] ? ` (${format.percent(other.measured[at] / line.measured[at])})` : "";
      return element("small", { class: "hc-over" }, markOf(other), element("a", { href: other.address }, other.over), ` ${this.valueText(other, at)}${share}`);
    }

    /* -- zooming and comparing -- */

    selected(plot) {
      const { left, width } = plot.select;
      if (width < 10) return;
      const first = Math.ceil(plot.posToVal(left, "x") - 0.25), last = Math.floor(plot.posToVal(left + width, "x") + 0.25);
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      if (last > first) this.zoom(first, last);
    }

    zoom(first, last) {
      const all = first <= 0 && last >= this.axis.length - 1;
      this.ask({ ...this.asked, from: all ? "" : this.axis[Math.max(0, first)], to: all ? "" : this.axis[Math.min(last, this.axis.length - 1)] });
    }

    zoomBy(factor) {
      const end = this.axis.length - 1, span = Math.min(end, Math.max(2, Math.round((this.last - this.first) * factor)));
      const first = Math.min(Math.max(0, Math.round(this.read - span / 2)), end - span);
      this.zoom(first, first + span);
    }

    click(event) {
      const dragged = Math.abs(event.clientX - (this.pressed ?? event.clientX)) > 5;
      if (dragged || event.pointerType === "touch") return;
      this.mark(this.read);
    }

    /** Mark a release: the first is the base, the second is compared with it, a third starts anew. */
    mark(at) {
      const { asked } = this, version = this.axis[at];
      if (!asked.base || asked.with) this.ask({ ...asked, base: version, with: "" });
      else if (asked.base === version) this.clear();
      else this.ask({ ...asked, with: version });
    }

    clear() {
      this.ask({ ...this.asked, base: "", with: "" });
    }

    showComparison() {
      const { state } = this;
      const choice = (name, word) => {
        const select = element("select", { "aria-label": `${word} torch`, onchange: () => this.ask({ ...this.asked, [name]: select.value }) }, element("option", { value: "" }, "–"), ...[...this.axis].reverse().map((version) => element("option", { value: version }, version)));
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
      const rows = this.drawn.filter((line) => line.y[before] !== null || line.y[after] !== null).map((line) => {
        const isCompared = tensorHistory.comparable(line, before, after);
        const ratio = line.y[before] && line.y[after] && isCompared ? line.y[after] / line.y[before] : null;
        const joint = ratio !== null && Math.max(line.y[after] / line.y[before], line.y[before] / line.y[after]) <= line.within[before] * line.within[after];
        const result = element("td", { class: ratio === null || joint ? "" : this.verdictOf(ratio > 1) }, ratio === null ? (isCompared ? "" : words.apart) : `${joint ? "≈ " : ""}${format.percent(ratio)}`);
        overlaps ||= joint;
        const unit = state.unit === "percent" ? "time" : state.unit;
        const value = (at) => (line.y[at] === null ? "–" : format.quantity(line.measured[at], unit));
        return element("tr", {}, element("th", { scope: "row" }, markOf(line), breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null), element("td", {}, value(before)), element("td", {}, value(after)), result);
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

    /* -- the table -- */

    showTable() {
      const heads = [element("th", { scope: "col" }, words.release), ...this.drawn.map((line) => element("th", { scope: "col" }, breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null))];
      const rows = [];
      for (let at = this.last; at >= this.first; at--) {
        if (this.drawn.every((line) => line.y[at] === null)) continue;
        const cells = this.drawn.map((line) => {
          const step = line.steps.find((step) => step.release === at);
          return element("td", {}, line.y[at] === null ? "–" : this.valueText(line, at), line.unpaired[at] ? element("small", {}, ` ${words.unpaired}`) : null, step ? this.stepMark(step) : null);
        });
        rows.push(element("tr", {}, element("th", { scope: "row" }, this.axis[at], element("small", {}, ` ${this.drawn.map((line) => line.python[at]).find(Boolean) || ""}`)), ...cells));
      }
      const table = element("table", { class: "narrow" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
      this.table.replaceChildren(element("h2", {}, words.table), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words.table }, table));
    }
  }

  /* ---- start ---- */

  /** Return the data of a chart in its page, a document for each machine; a document may name the script that has the data. */
  function documentsOf(host) {
    const block = document.getElementById(host.dataset.source);
    return block ? [JSON.parse(block.textContent)].flat() : [];
  }

  /** Make a chart; its drawing stays where its data cannot be loaded. */
  async function start(host, documents) {
    try {
      for (const { script } of documents) if (script) await tensorHistory.load(`${host.dataset.root}${script}`);
    } catch {
      return;
    }
    const machineOf = (data) => (data.script ? Object.assign(tensorHistory.machines.get(data.machine), data) : tensorHistory.receive(data));
    const machines = documents.length ? documents.map(machineOf) : [tensorHistory.machines.get(host.dataset.machine)];
    if (machines[0] && machines[0].cases.size) new HistoryChart(host, machines);
  }

  /** Make the chart of a device when its tab is chosen, or when the address has its state. */
  function startLater(host, documents) {
    const fragment = host.dataset.explorer.split("#")[1], { device } = tensorHistory.parsed(fragment), tab = tabOf(device);
    let started = false;
    const begin = () => {
      if (!started) start(host, documents);
      started = true;
    };
    const follow = () => {
      const asked = tensorHistory.parsed(location.hash);
      if (!started && asked && asked.device === device) tab.checked = true;
      if (tab.checked) begin();
    };
    tab.addEventListener("change", () => {
      if (!started) history.pushState(null, "", `#${fragment}`);
      begin();
    });
    addEventListener("hashchange", follow);
    follow();
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const host of document.querySelectorAll(".history-chart:not(.ready)")) {
      const documents = documentsOf(host);
      if (documents.some(({ script }) => script)) startLater(host, documents);
      else start(host, documents);
    }
  });
})();
