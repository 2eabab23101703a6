/* The interactive history chart: lines over the releases, reading, comparing. history-data.js has the data and the state.

Every element .history-chart becomes a chart; data-mode decides which controls it has (history-controls.js):
  explorer   all of them
  landing    the usual ones; the tabs of the page choose the device, and a link leads to the same state in the explorer
The state is in the fragment of the address, so that a chart that was chosen can be linked to, and the browser's back button leads to the one before.
*/
"use strict";

(() => {
  const { STATE, TIME_UNITS, text: format } = tensorHistory;
  const { Controls, PHONE, element, label, order, words } = historyControls;
  const { miniatureOf, palette } = historyAxes;
  const PLACE_FIELDS = ["group", "numel", "grad", "dtype", "layout", "device", "timed"];
  const COLOURS = 5;

  /* ---- the chart ---- */

  class HistoryChart {
    constructor(host, data) {
      this.host = host;
      this.mode = host.dataset.mode;
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
      this.flags = element("div", { class: "hc-layer" });
      this.labels = element("div", { class: "hc-layer" });
      this.reader = element("div", { class: "hc-reader", role: "slider", tabindex: "0", "aria-label": words.reader, "aria-describedby": `${this.id}-help`, onkeydown: (event) => this.key(event) });
      this.plot = element("div", { class: "hc-plot" }, this.canvas, this.reader, this.flags, this.labels);
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
      this.followTabs();
    }

    /** Let the tabs of the landing page choose the device, of those that this machine has measured. */
    followTabs() {
      const section = this.host.closest("[data-devices]");
      this.tabs = section ? [...document.querySelectorAll("input[name=device]")] : [];
      if (section) section.dataset.device = section.dataset.devices; // without this script, its drawing is of one device
      for (const tab of this.tabs) {
        tab.addEventListener("change", () => this.state.device !== tab.value && section.dataset.devices.split(" ").includes(tab.value) && this.choose("device", tab.value));
      }
    }

    /* -- state -- */

    /** Take the state from the address, or the first one. */
    restore() {
      const asked = tensorHistory.parsed(location.hash);
      if (!asked && this.state && location.hash) return; // an anchor of the page, such as #content
      const first = this.mode === "explorer" ? null : tensorHistory.parsed(this.host.dataset.explorer.split("#")[1] || "");
      const state = asked || first || { ...STATE, group: this.firstGroup() };
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
      const nearest = tensorHistory.measuredState(this.machine, clean, fixed) || tensorHistory.measuredState(this.machine, clean);
      if (!nearest) return this.show({ ...STATE, over: "" }, { stays });
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
      for (const tab of this.tabs) tab.checked = tab.value === this.state.device;
    }

    /** Return a state without a Python or a unit that none of its methods has. */
    withValues(state) {
      const entries = state.method.map((method) => this.machine.at(state, method));
      const python = entries.some((entry) => entry.columns[state.python]) ? state.python : "";
      const unit = state.unit === "memcpy" && !entries.some((entry) => Object.keys(entry.memcpy).length) ? "time" : state.unit;
      return { ...state, python, unit };
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
      if (name === "unit" && value === "memcpy") return this.state.method.some((method) => Object.keys((machine.at({ ...state, unit: "time" }, method) || { memcpy: {} }).memcpy).length) ? { here: true } : null;
      if (["group", "numel", "grad"].includes(name) && !machine.loaded.has("times")) return { here: true };
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
        const value = name === "method" ? state.method.map((method) => label(name, method, this.machine)).join(", ") : label(name, state[name], this.machine);
        return ["method", "numel", "dtype", "layout", "group", "device", "unit"].includes(name) ? value : `${words[name]} ${value}`;
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
  }

  Object.assign(HistoryChart.prototype, historyDrawing, historyFlags, historyReading);

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
