/* The words and the controls of the history chart: a row of selects, the less usual ones behind "more", for history-chart.js. */
"use strict";

const historyControls = (() => {
  const { STATE, TIME_UNITS, text: format } = tensorHistory;
  const ROW = ["group", "numel", "grad", "unit", "machine"]; // always shown
  const MORE = ["dtype", "layout", "device", "timed", "scale", "python", "over"]; // of the explorer
  const ALWAYS = { device: ["cpu", "cuda", "mps", "xpu"], grad: ["no", "yes"] }; // shown where they were not measured, too
  const DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"];
  const PHONE = "(max-width: 40rem)";

  /* ---- words ---- */

  const ENGLISH = {
    group: "what", numel: "size", grad: "grad", dtype: "dtype", layout: "layout", device: "device", timed: "timed",
    python: "Python", unit: "show", scale: "axis", over: "overlay", machine: "machine", joined: "joined", none: "none", yes: "yes", no: "no", log: "log", linear: "linear",
    copies: "copies", conversions: "conversions", primitives: "primitives", alternatives: "alternatives", transfers: "transfers", own: "own operations", throughput: "throughput", latency: "latency",
    time: "time", memcpy: "× memcpy", percent: "%", instructions: "instructions", allocated: "bytes", peak: "peak", allocations: "allocations",
    device_allocated: "device bytes", device_peak: "device peak", device_allocations: "device allocations", cuda_peak: "CUDA peak",
    more: "More", reset: "Show all releases", reader: "torch release", link: "Link to this chart", shown: (code) => `show ${code}`,
    shows: (what) => `shows ${what}`, moved: (asked, what) => `${asked} was not measured with these settings. Shown: ${what}.`,
    previous: "vs previous", release: "torch", ratio: "ratio", compare: "Compare", with: "with", clear: "Clear",
    page: "Comparison of all cases", overlap: "≈: the intervals overlap.", notMeasured: "not measured",
    outside: (value) => `outside the plotted range: ${value}`, table: "Values shown", sizes: "All sizes: choose one",
    explore: "Explore every method, size and dtype",
    scaledBy: (python, factor) => `Python ${python}, drawn × ${factor}`, noData: "The data could not be loaded.",
    against: (release) => `change from torch ${release}`, perCall: "time per call",
    dashed: "Dashed: an older Python, scaled.", dotted: (over) => `Dotted: ${over}.`,
    band: "At a line: its 95 % interval.", zone: "At a line: its 95 % interval and, paler, the changes from the release before that are not seen 9 times in 10.",
    seen: "detectable",
    help: "Point or ← → to read a release. Click (Enter) on two to compare, Escape clears. Drag (+ − 0) to zoom.",
    tap: "Touch the chart and slide to read a release.", line: "method",
  };
  const JAPANESE = {
    group: "対象", numel: "要素数", grad: "勾配", dtype: "dtype", layout: "レイアウト", device: "デバイス", timed: "測定方式",
    python: "Python", unit: "表示", scale: "軸", over: "重ねる", machine: "マシン", joined: "連結", none: "なし", yes: "あり", no: "なし", log: "対数", linear: "線形",
    copies: "コピー", conversions: "ndarray への変換", primitives: "基本操作", alternatives: "代替手段", transfers: "転送", own: "独自の操作", throughput: "スループット", latency: "レイテンシ",
    time: "時間", memcpy: "memcpy 比", percent: "%", instructions: "命令数", allocated: "割り当てバイト数", peak: "ピークメモリ", allocations: "割り当て回数",
    device_allocated: "デバイスの割り当てバイト数", device_peak: "デバイスのピーク", device_allocations: "デバイスの割り当て回数", cuda_peak: "CUDA のピーク",
    more: "詳細", reset: "全リリースを表示", reader: "torch のリリース", link: "このグラフへのリンク", shown: (code) => `${code} を表示`,
    shows: (what) => `${what} を表示`, moved: (asked, what) => `${asked} はこの条件では測定していません。${what} を表示しています。`,
    previous: "前リリース比", release: "torch", ratio: "比", compare: "比較", with: "と", clear: "解除",
    page: "全ケースの比較", overlap: "≈: 信頼区間が重なっています。", notMeasured: "未測定",
    outside: (value) => `表示範囲外: ${value}`, table: "表示中の値", sizes: "要素数ごとの一覧（選択できます）",
    explore: "すべての方法・サイズ・dtype を見る",
    scaledBy: (python, factor) => `Python ${python}、× ${factor} で描画`, noData: "データを読み込めませんでした。",
    against: (release) => `torch ${release} からの変化`, perCall: "1 回あたりの時間",
    dashed: "破線: 古い Python（換算値）。", dotted: (over) => `点線: ${over}。`,
    band: "線を指すと 95 % 信頼区間を示します。", zone: "線を指すと 95 % 信頼区間と、前リリースとの差を検出できない範囲（淡い領域）を示します。",
    seen: "検出限界",
    help: "リリースを指すか ← → キーで値を読みます。2 つのリリースをクリック（または Enter）で比較、Esc で解除。ドラッグで拡大（+ − 0 キー）。",
    tap: "グラフに触れて左右に動かすと値を読めます。", line: "方法",
  };
  const words = document.documentElement.lang === "ja" ? JAPANESE : ENGLISH;
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

  /** Return the mark of a line. */
  function markOf(line) {
    return drawing("svg", { class: "hc-mark", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, drawing("path", { class: `mark s${line.colour}`, d: line.shape }));
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

  return { PHONE, Controls, drawing, element, label, markOf, order, wordOf, words };
})();
