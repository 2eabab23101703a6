/* What the history chart draws on its canvas: bands, lines, marks and arrows. Methods of HistoryChart (history-chart.js). */
"use strict";

const historyDrawing = (() => {
  const { TIME_UNITS, text: format } = tensorHistory;
  const { element, wordOf, words } = historyControls;
  const { FLAG_ROW, NAME_GAP, robustRange, shortNames, tickText, ticks, withAlpha } = historyAxes;
  const FONT = 13, TALL = 420, LOW = 360, BACK = 0.3;

  return {
    /* -- drawing -- */

    render() {
      const { state } = this, release = this.axis && this.axis[this.read];
      if (!state) return; // its data is loading
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
      this.legend.textContent = this.explanations().join(" ");
      this.reset.hidden = this.first === 0 && this.last === this.axis.length - 1;
      this.draw();
      this.showComparison();
      if (this.mode === "explorer") { this.showStrip(); this.showTable(); }
    },

    /** Return sentences on what is drawn beside the lines. */
    explanations() {
      const { drawn } = this, over = drawn.find((line) => line.over);
      return [TIME_UNITS.includes(this.state.unit) && (this.detects() ? words.zone : words.band), drawn.some((line) => line.joints.length) && words.dashed, over && words.dotted(over.over)].filter(Boolean);
    },

    newestRead() {
      for (let at = this.last; at > this.first; at--) if (this.drawn.some((line) => line.y[at] !== null)) return at;
      return this.last;
    },

    /** Return the release that is 100 %: the marked one, else the first that all lines have. */
    baseIndex() {
      const { state } = this;
      if (state.base) return this.axis.indexOf(state.base);
      const from = Math.max(0, this.axis.indexOf(state.from));
      for (let at = from; at < this.axis.length; at++) if (this.drawn.every((line) => line.drawn[at] !== null)) return at;
      return this.drawn.length ? this.drawn[0].drawn.findIndex((value) => value !== null) : 0;
    },

    heading() {
      const { state, machine } = this;
      const size = state.group.endsWith("-by-n") ? `n = ${state.numel}` : `${format.elements(Number(state.numel))} ${state.dtype}`, where = machine.devices[state.device] || state.device;
      const unit = state.unit === "percent" ? words.against(this.axis[this.baseIndex()]) : state.unit === "time" ? words.perCall : words[state.unit];
      const facts = [size, state.grad === "yes" ? "requires_grad" : "", state.layout === "contiguous" ? "" : state.layout].filter(Boolean);
      return [element("strong", {}, `${wordOf(state.group)}, ${facts.join(", ")}`), ` ${unit} · ${where}`];
    },

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
      const right = this.makeNames(width), above = this.makeFlags(left, width - left - right, right);
      const data = [this.axis.map((_, at) => at), ...this.drawn.map((line) => line.y.map(this.toScale))];
      this.uplot = new uPlot(this.options(width, height, { values, texts, left, right, above }), data, this.canvas);
      this.over = this.uplot.over;
      this.over.addEventListener("pointerdown", (event) => (this.pressed = event.clientX));
      this.over.addEventListener("click", (event) => this.click(event));
      this.over.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.readAgain());
    },

    /** Place what lies above the drawing, when the drawing has its scales. */
    placed(plot) {
      const place = this.over.getBoundingClientRect(), home = this.plot.getBoundingClientRect();
      const offset = { x: place.left - home.left, y: place.top - home.top };
      this.placeReader(offset, place);
      this.placeNames(offset, place);
      this.placeFlags(offset);
      this.drawLeaders(plot, devicePixelRatio);
      this.showRead();
    },

    options(width, height, { values, texts, left, right, above }) {
      const { colours } = this, font = `${FONT}px system-ui, sans-serif`;
      const [low, high] = this.range, plotted = width - left - right;
      const stride = Math.max(1, Math.ceil(((this.last - this.first + 1) * (6.5 * Math.max(...this.names.map((name) => name.length)) + 4)) / plotted));
      const shown = this.axis.map((_, at) => at).filter((at) => at >= this.first && at <= this.last && (this.last - at) % stride === 0);
      return {
        width, height, legend: { show: false }, padding: [above, right, 0, 0],
        scales: { x: { time: false, range: () => [this.first - 0.5, this.last + 0.5] }, y: { range: () => [low, high].map(this.toScale) } },
        axes: [
          { splits: () => shown, values: (_, at) => at.map((index) => this.names[index]), stroke: colours.quiet, grid: { show: false }, ticks: { stroke: colours.rule, width: 1, size: 5 }, font, size: 32, gap: 5 },
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
    },

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
    },

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
    },

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
    },

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
    },

    /** Return the opacity of a line: others stand back behind the method in front. */
    shade(line) {
      return this.focus && line.entry.method !== this.focus ? BACK : 1;
    },

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
    },

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
    },

    drawArrow(plot, { line, at, up }, ratio) {
      const { ctx } = plot, { top, height } = plot.bbox;
      const x = plot.valToPos(at, "x", true), size = 5 * ratio, y = up ? top + 2 * ratio : top + height - 2 * ratio;
      ctx.fillStyle = this.colours.lines[line.colour - 1];
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x - size, y + 1.6 * (up ? size : -size));
      ctx.lineTo(x + size, y + 1.6 * (up ? size : -size));
      ctx.fill();
    },

    /** Draw a thin line from each flag down to the point that it marks, and from the end of each line to its name. */
    drawLeaders(plot, ratio) {
      const { ctx } = plot, { left, top, width } = plot.bbox;
      const x = (at) => plot.valToPos(at, "x", true), y = (value) => Math.max(top, plot.valToPos(this.toScale(value), "y", true));
      ctx.save();
      ctx.lineWidth = ratio;
      for (const { release, row, steps } of this.flagged) {
        ctx.strokeStyle = this.colours.quiet;
        ctx.globalAlpha = 0.6 * Math.max(...steps.map(({ line }) => this.shade(line)));
        ctx.beginPath();
        ctx.moveTo(x(release), top - (row * FLAG_ROW + 4) * ratio);
        ctx.lineTo(x(release), Math.min(...steps.map(({ line }) => y(line.y[release]))) - 6 * ratio);
        ctx.stroke();
      }
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
    },
  };
})();
