/* Reading, zooming and comparing in the history chart, and its table. Methods of HistoryChart (history-chart.js). */
"use strict";

const historyReading = (() => {
  const { TIME_UNITS, text: format } = tensorHistory;
  const { element, markOf, wordOf, words } = historyControls;
  const { breakable } = historyAxes;
  const NEAR = 24; // px from a line at which the pointer is at it

  return {
    /* -- reading -- */

    placeReader(offset, place) {
      Object.assign(this.reader.style, { left: `${offset.x}px`, top: `${offset.y}px`, width: `${place.width}px`, height: `${place.height}px` });
      if (!this.cross) this.cross = element("div", { class: "hc-cross" });
      this.reader.append(this.cross);
    },

    pointed(plot) {
      if (!this.uplot || plot.cursor.left < 0 || plot.cursor.left === undefined) return;
      const at = Math.round(plot.posToVal(plot.cursor.left, "x"));
      if (at >= this.first && at <= this.last && at !== this.read) { this.read = at; this.showRead(); }
      this.focusOn(this.methodNear(at, plot.cursor.top));
    },

    /** Return the method whose line passes nearest to a height at a release; "" where none is near. */
    methodNear(at, top) {
      let method = "", least = NEAR;
      for (const line of this.drawn.filter((each) => !each.over && each.y[at] !== null)) {
        const distance = Math.abs(this.uplot.valToPos(this.toScale(line.y[at]), "y") - top);
        if (distance < least) [method, least] = [line.entry.method, distance];
      }
      return method;
    },

    readAt(at) {
      this.read = Math.min(Math.max(at, this.first), this.last);
      this.showRead();
    },

    readAgain() {
      this.focusOn("");
      if (document.activeElement !== this.reader) this.readAt(this.newestRead());
    },

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
    },

    /** Read with a finger: sliding along the chart reads, and does not zoom. */
    touch() {
      const read = (event) => {
        const { left } = this.over.getBoundingClientRect();
        this.readAt(Math.round(this.uplot.posToVal(event.touches[0].clientX - left, "x")));
      };
      this.canvas.addEventListener("touchstart", read, { passive: true });
      this.canvas.addEventListener("touchmove", read, { passive: true });
    },

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
      const head = element("caption", {}, element("strong", {}, `torch ${axis[read]}`), ` ${date}`);
      const columns = [words.line, wordOf(this.state.unit), words.previous].map((word) => element("th", { scope: "col" }, word));
      if (this.detects()) columns.push(element("th", { scope: "col", title: words.zone }, words.seen));
      const shown = new Map(this.drawn.filter((line) => !line.over).map((line) => [line.entry.method, line]));
      const rows = this.machine.methodsOf(this.state.group).map((method) => (shown.has(method) ? this.readRow(shown.get(method), read) : this.hiddenRow(method)));
      const focused = this.readout.contains(document.activeElement) && document.activeElement.value;
      this.readout.replaceChildren(element("table", {}, head, element("thead", {}, element("tr", {}, ...columns)), element("tbody", {}, ...rows)));
      if (focused) this.readout.querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
    },

    /** Return a check box with a method's mark, which shows or hides its line. */
    checkBox(method, checked, disabled = false) {
      const input = element("input", { type: "checkbox", value: method, disabled, "aria-label": words.shown(this.machine.code(method, this.state.device)), onchange: () => this.choose("method", method, input.checked) });
      input.checked = checked;
      return element("label", { class: "hc-choose" }, input, markOf(this.look(method)));
    },

    /** Return the row of a method without a line: hidden, or not measured with these settings. */
    hiddenRow(method) {
      const place = this.reached("method", method), code = breakable(this.machine.code(method, this.state.device));
      const note = !place ? words.notMeasured : place.here ? "" : words.shows(place.what);
      return element("tr", { class: "hc-off" }, element("th", { scope: "row" }, this.checkBox(method, false, !place), code, element("small", {}, note)), element("td", { colspan: this.detects() ? 3 : 2 }));
    },

    /** Return whether the smallest detectable change of any line is known. */
    detects() {
      return this.drawn.some((line) => line.detect.some(Boolean));
    },

    valueText(line, at) {
      const { unit } = this.state;
      if (line.y[at] === null || line.y[at] === undefined) return words.notMeasured;
      return format.quantity(TIME_UNITS.includes(unit) && unit !== "time" ? line.y[at] : line.measured[at], unit);
    },

    readRow(line, at) {
      const { unit } = this.state, before = tensorHistory.previous(line, at), method = line.entry.method;
      const known = line.measured[at] !== null && line.measured[at] !== undefined;
      const step = line.steps.find((step) => step.release === at);
      const details = [];
      if (known && (unit === "percent" || unit === "memcpy")) details.push(format.duration(line.measured[at]));
      const factor = known ? line.drawn[at] / line.measured[at] : 1;
      if (Math.abs(factor - 1) > 0.0005) details.push(words.scaledBy(line.python[at], factor.toFixed(3)));
      const name = element("a", { href: line.address }, breakable(line.code));
      const error = known && line.within[at] > 1 ? element("small", {}, `±${format.percent(line.within[at]).slice(1)}`) : null;
      const seen = this.detects() ? element("td", {}, known && line.detect[at] ? format.percent(line.detect[at]).slice(1) : "") : null;
      const change = before >= 0 && known && line.y[at] && line.y[before] ? format.percent(line.y[at] / line.y[before]) : "";
      const small = element("small", {}, details.join(" · "));
      const others = this.drawn.filter((other) => other.over && other.entry.method === line.entry.method && other.y[at]).map((other) => this.readOver(other, line, at));
      const over = { onpointerenter: () => this.focusOn(method), onpointerleave: () => this.focusOn(""), onfocusin: () => this.focusOn(method), onfocusout: () => this.focusOn("") };
      return element("tr", over, element("th", { scope: "row" }, this.checkBox(method, true), name, small, ...others), element("td", {}, this.valueText(line, at), error), element("td", {}, step ? this.stepMark(step) : change), seen);
    },

    /** Return a change of a line with its sign. */
    stepMark(step) {
      return element("span", { class: this.verdictOf(step.ratio > 1), title: this.sentence(step) }, `${step.ratio > 1 ? "▲" : "▼"} ${step.text}`);
    },

    /** Return a line's value of an overlay, as a share of the line below it. */
    readOver(other, line, at) {
      const share = line.measured[at] ? ` (${format.percent(other.measured[at] / line.measured[at])})` : "";
      return element("small", { class: "hc-over" }, markOf(other), element("a", { href: other.address }, other.over), ` ${this.valueText(other, at)}${share}`);
    },

    /* -- zooming and comparing -- */

    selected(plot) {
      const { left, width } = plot.select;
      if (width < 10) return;
      const first = Math.ceil(plot.posToVal(left, "x") - 0.25), last = Math.floor(plot.posToVal(left + width, "x") + 0.25);
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      if (last > first) this.zoom(first, last);
    },

    zoom(first, last) {
      const all = first <= 0 && last >= this.axis.length - 1;
      this.ask({ ...this.asked, from: all ? "" : this.axis[Math.max(0, first)], to: all ? "" : this.axis[Math.min(last, this.axis.length - 1)] });
    },

    zoomBy(factor) {
      const end = this.axis.length - 1, span = Math.min(end, Math.max(2, Math.round((this.last - this.first) * factor)));
      const first = Math.min(Math.max(0, Math.round(this.read - span / 2)), end - span);
      this.zoom(first, first + span);
    },

    click(event) {
      const dragged = Math.abs(event.clientX - (this.pressed ?? event.clientX)) > 5;
      if (dragged || event.pointerType === "touch") return;
      this.mark(this.read);
    },

    /** Mark a release: the first is the base, the second is compared with it, a third starts anew. */
    mark(at) {
      const { asked } = this, version = this.axis[at];
      if (!asked.base || asked.with) this.ask({ ...asked, base: version, with: "" });
      else if (asked.base === version) this.clear();
      else this.ask({ ...asked, with: version });
    },

    clear() {
      this.ask({ ...this.asked, base: "", with: "" });
    },

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
    },

    comparisonTable() {
      const { state } = this, [before, after] = [state.base, state.with].map((version) => this.axis.indexOf(version)).sort((a, b) => a - b);
      let overlaps = false;
      const rows = this.drawn.filter((line) => line.y[before] !== null || line.y[after] !== null).map((line) => {
        const ratio = line.y[before] && line.y[after] ? line.y[after] / line.y[before] : null;
        const joint = ratio !== null && Math.max(line.y[after] / line.y[before], line.y[before] / line.y[after]) <= line.within[before] * line.within[after];
        const result = element("td", { class: ratio === null || joint ? "" : this.verdictOf(ratio > 1) }, ratio === null ? "" : `${joint ? "≈ " : ""}${format.percent(ratio)}`);
        overlaps ||= joint;
        const unit = state.unit === "percent" ? "time" : state.unit;
        const value = (at) => (line.y[at] === null ? "–" : format.quantity(unit === "memcpy" ? line.y[at] : line.measured[at], unit));
        return element("tr", {}, element("th", { scope: "row" }, markOf(line), breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null), element("td", {}, value(before)), element("td", {}, value(after)), result);
      });
      const heads = [words.line, this.axis[before], this.axis[after], words.ratio].map((word) => element("th", { scope: "col" }, word));
      const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
      const address = this.pairAddress(before, after);
      const note = overlaps ? [element("p", { class: "hc-help" }, words.overlap)] : [];
      return [table, ...note, ...(address ? [element("p", { class: "hc-page" }, element("a", { href: address }, words.page))] : [])];
    },

    pairAddress(before, after) {
      const index = (at) => this.machine.releases.indexOf(this.axis[at]);
      const pythons = this.state.python ? [this.state.python] : this.machine.pythons;
      return this.addressOf(pythons.map((python) => this.machine.comparison(python, index(before), index(after))).find(Boolean));
    },

    /* -- the table -- */

    showTable() {
      const heads = [element("th", { scope: "col" }, words.release), ...this.drawn.map((line) => element("th", { scope: "col" }, breakable(line.code), line.over ? element("small", {}, ` ${line.over}`) : null))];
      const rows = [];
      for (let at = this.last; at >= this.first; at--) {
        if (this.drawn.every((line) => line.y[at] === null)) continue;
        const cells = this.drawn.map((line) => {
          const step = line.steps.find((step) => step.release === at);
          return element("td", {}, line.y[at] === null ? "–" : this.valueText(line, at), step ? this.stepMark(step) : null);
        });
        rows.push(element("tr", {}, element("th", { scope: "row" }, this.axis[at], element("small", {}, ` ${this.drawn.map((line) => line.python[at]).find(Boolean) || ""}`)), ...cells));
      }
      const table = element("table", { class: "narrow" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
      this.table.replaceChildren(element("h2", {}, words.table), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words.table }, table));
    },
  };
})();
