/* The words and the controls of the history chart: fields of radio buttons, check boxes and selects, for history-chart.js. */
"use strict";

const historyControls = (() => {
  const { TIME_UNITS, text: format } = tensorHistory;
  const FIELDS = {
    explorer: ["group", "numel", "grad", "threads", "machine", "method", "dtype", "layout", "device", "timed", "unit", "scale", "python", "over"],
    landing: ["group", "numel", "grad", "unit", "method"],
  };
  const ROW_AFTER = { explorer: ["method", "timed"], landing: ["unit"] };
  const FIRST = ["group", "numel", "grad", "threads", "machine"]; // always shown; on a phone the others are behind a button
  const ALWAYS = { device: ["cpu", "cuda", "mps", "xpu"], grad: ["no", "yes"] }; // shown where they were not measured, too
  const DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"];
  const LANDING_GROUPS = ["copies", "conversions"];
  const PHONE = "(max-width: 40rem)";

  /* ---- words ---- */

  const ENGLISH = {
    group: "what", method: "methods", numel: "size", grad: "grad", dtype: "dtype", layout: "layout", device: "device", timed: "timed", threads: "threads",
    python: "Python", unit: "show", scale: "axis", over: "overlay", machine: "machine", joined: "joined", none: "none", yes: "yes", no: "no", log: "log", linear: "linear",
    copies: "copies", conversions: "conversions", primitives: "primitives", alternatives: "alternatives", own: "own operations", throughput: "throughput", latency: "latency",
    time: "time", memcpy: "× memcpy", percent: "%", instructions: "instructions", allocated: "bytes", peak: "peak", allocations: "allocations",
    device_allocated: "device bytes", device_peak: "device peak", device_allocations: "device allocations", cuda_peak: "CUDA peak",
    settings: "Settings", reset: "Show all releases", reader: "torch release", notMeasuredHere: "not measured on this machine",
    nearest: (what) => `not measured with these settings; shows ${what}`, moved: (asked, what) => `${asked} was not measured with these settings. Shown: ${what}.`,
    previous: "vs previous", release: "torch", ratio: "ratio", compare: "Compare", with: "with", clear: "Clear",
    page: "Comparison of all cases", overlap: "≈: the intervals overlap.", notMeasured: "not measured",
    outside: (value) => `outside the plotted range: ${value}`, table: "Values shown", sizes: "All sizes: choose one",
    explore: "Explore every method, size and dtype",
    scaledBy: (python, factor) => `Python ${python}, drawn × ${factor}`, noData: "The data could not be loaded.",
    against: (release) => `change from torch ${release}`, perCall: "time per call", dashed: "Dashed: an older Python, scaled.", machineChanged: "the machine changed",
    help: "Point or ← → to read a release. Click (Enter) on two to compare, Escape clears. Drag (+ − 0) to zoom.",
    tap: "Touch the chart and slide to read a release.", line: "method", lines: "methods",
  };
  const JAPANESE = {
    group: "対象", method: "方法", numel: "要素数", grad: "勾配", dtype: "dtype", layout: "レイアウト", device: "デバイス", timed: "測定方式", threads: "スレッド",
    python: "Python", unit: "表示", scale: "軸", over: "重ねる", machine: "マシン", joined: "連結", none: "なし", yes: "あり", no: "なし", log: "対数", linear: "線形",
    copies: "コピー", conversions: "ndarray への変換", primitives: "基本操作", alternatives: "代替手段", own: "独自の操作", throughput: "スループット", latency: "レイテンシ",
    time: "時間", memcpy: "memcpy 比", percent: "%", instructions: "命令数", allocated: "割り当てバイト数", peak: "ピークメモリ", allocations: "割り当て回数",
    device_allocated: "デバイスの割り当てバイト数", device_peak: "デバイスのピーク", device_allocations: "デバイスの割り当て回数", cuda_peak: "CUDA のピーク",
    settings: "設定", reset: "全リリースを表示", reader: "torch のリリース", notMeasuredHere: "このマシンでは未測定",
    nearest: (what) => `この条件では未測定。${what} を表示します`, moved: (asked, what) => `${asked} はこの条件では測定していません。${what} を表示しています。`,
    previous: "前リリース比", release: "torch", ratio: "比", compare: "比較", with: "と", clear: "解除",
    page: "全ケースの比較", overlap: "≈: 信頼区間が重なっています。", notMeasured: "未測定",
    outside: (value) => `表示範囲外: ${value}`, table: "表示中の値", sizes: "要素数ごとの一覧（選択できます）",
    explore: "すべての方法・サイズ・dtype を見る",
    scaledBy: (python, factor) => `Python ${python}、× ${factor} で描画`, noData: "データを読み込めませんでした。",
    against: (release) => `torch ${release} からの変化`, perCall: "1 回あたりの時間", dashed: "破線: 古い Python（換算値）。", machineChanged: "マシンが変わりました",
    help: "リリースを指すか ← → キーで値を読みます。2 つのリリースをクリック（または Enter）で比較、Esc で解除。ドラッグで拡大（+ − 0 キー）。",
    tap: "グラフに触れて左右に動かすと値を読めます。", line: "方法", lines: "方法",
  };
  const words = document.documentElement.lang === "ja" ? JAPANESE : ENGLISH;
  const wordOf = (value) => (typeof words[value] === "string" ? words[value] : value);

  /** Return the text of a field's value, as its button has it. */
  function label(field, value, machine) {
    if (field === "numel") return Number(value) > 0 ? format.elements(Number(value)) : value;
    if (field === "method") return machine.code(value, "cpu");
    if (field === "python") return value || words.joined;
    return ["dtype", "layout", "device", "threads"].includes(field) ? value : wordOf(value);
  }

  /* ---- elements ---- */

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** Return an SVG element. */
  function drawing(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function swatch(line) {
    const kind = `s${line.colour}${line.over || line.again ? " old" : ""}`;
    const mark = drawing("path", { class: `mark ${kind}`, d: line.shape, transform: "translate(15 6)" });
    return drawing("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, drawing("path", { class: `line ${kind}`, d: "M0 6H30" }), mark);
  }

  /* ---- controls ---- */

  /** The fields of a chart: radio buttons and check boxes as pills, selects for long lists. */
  class Controls {
    constructor(chart) {
      this.chart = chart;
      this.first = element("div", { class: "hc-fields" });
      this.more = element("div", { class: "hc-fields" });
      this.summary = element("summary", {});
      this.details = element("details", { class: "hc-settings", open: !matchMedia(PHONE).matches }, this.summary, this.more);
      this.fields = new Map();
      this.box = element("div", { class: "hc-controls" }, this.first, ...(chart.mode === "explorer" ? [this.details] : []));
    }

    /** Make the fields anew when their values changed, else update them. */
    update() {
      const { chart } = this;
      for (const name of FIELDS[chart.mode]) {
        const values = this.values(name);
        const key = values.join("|");
        const old = this.fields.get(name);
        if (!old || old.key !== key) {
          const made = this.make(name, values);
          made.key = key;
          if (old) old.box.replaceWith(made.box);
          else (chart.mode !== "explorer" || FIRST.includes(name) ? this.first : this.more).append(made.box, ...(ROW_AFTER[chart.mode].includes(name) ? [element("div", { class: "hc-break" })] : []));
          this.fields.set(name, made);
        }
        this.fields.get(name).refresh();
      }
      const { state } = chart;
      const facts = [`${state.method.length} ${words.lines}`, state.dtype, state.device, wordOf(state.unit), wordOf(state.scale)];
      this.summary.textContent = `${words.settings}: ${facts.join(" · ")}`;
    }

    values(name) {
      const { machine, state, mode } = this.chart;
      if (name === "method") return machine.methodsOf(state.group);
      if (name === "group") return machine.values("group").filter((group) => mode !== "landing" || LANDING_GROUPS.includes(group)).sort((a, b) => order(a) - order(b));
      if (name === "python") return machine.pythons.length > 1 ? ["", ...machine.pythons] : [];
      if (name === "unit") return [...TIME_UNITS, ...this.chart.countUnits()];
      if (name === "scale") return ["log", "linear"];
      if (name === "over") return this.chart.overlays();
      if (name === "machine") return machine.machines.map(([other]) => other);
      const inTime = (entry) => entry.quantity === "time" || name === "device";
      const values = machine.values(name, name === "numel" ? (entry) => entry.group === state.group : inTime);
      if (name === "dtype") values.sort((a, b) => DTYPES.indexOf(a) - DTYPES.indexOf(b));
      return [...(ALWAYS[name] || []), ...values.filter((value) => !(ALWAYS[name] || []).includes(value))];
    }

    make(name, values) {
      const long = name === "over" || name === "machine";
      const made = long ? this.select(name, values) : this.pills(name, values);
      made.box.hidden = values.length < 2 && name !== "device";
      return made;
    }

    pills(name, values) {
      const { chart } = this, kind = name === "method" ? "checkbox" : "radio";
      const items = values.map((value) => {
        const input = element("input", { type: kind, name: `${chart.id}-${name}`, value, onchange: () => chart.choose(name, value, input.checked) });
        const content = name === "method" ? element("code", {}, label(name, value, chart.machine)) : label(name, value, chart.machine);
        const pill = element("span", {}, content);
        if (name === "method") pill.prepend(swatch(chart.look(value)));
        return { value, input, box: element("label", { class: name === "method" ? `hc-pill s${chart.look(value).colour}` : "hc-pill" }, input, pill) };
      });
      const box = element("fieldset", { class: `hc-field hc-${name}` }, element("legend", {}, words[name]), element("div", { class: "hc-pills" }, ...items.map((item) => item.box)));
      const refresh = () => items.forEach((item) => this.refreshPill(name, item));
      return { box, refresh };
    }

    refreshPill(name, { value, input, box }) {
      const { chart } = this, current = chart.state[name];
      input.checked = name === "method" ? current.includes(value) : current === value;
      const place = input.checked ? { here: true } : chart.reached(name, value);
      input.disabled = !place;
      box.classList.toggle("unmeasured", !place || !place.here);
      const title = !place ? words.notMeasuredHere : place.here ? "" : words.nearest(place.what);
      box.title = title;
      if (title) input.setAttribute("aria-description", title);
      else input.removeAttribute("aria-description");
    }

    select(name, values) {
      const { chart } = this;
      const options = values.map((value) => element("option", { value }, value.replace(/^(machine|device):/, "").replace("python:", "Python ") || words.none));
      const select = element("select", { onchange: () => chart.choose(name, select.value, true) }, ...options);
      const box = element("label", { class: `hc-field hc-${name}` }, element("span", { class: "hc-legend" }, words[name]), select);
      return { box, refresh: () => (select.value = name === "machine" ? chart.machine.name : chart.state[name]) };
    }
  }

  function order(group) {
    return ["copies", "conversions", "primitives", "alternatives", "own"].indexOf(group);
  }

  return { FIELDS, PHONE, Controls, drawing, element, label, order, swatch, wordOf, words };
})();
