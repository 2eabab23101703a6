/* The labels around the lines of the history chart: of changes in rows above the plot, of methods at the ends. Methods of HistoryChart (history-chart.js). */
"use strict";

const historyFlags = (() => {
  const { TIME_UNITS } = tensorHistory;
  const { PHONE, element, markOf, words } = historyControls;
  const { FLAG_ROW, NAME_GAP, breakable, shortName, spread } = historyAxes;
  const ROWS = 3, ROWS_ON_PHONE = 2, MOST_FLAGS = 12;
  const TRIES = 2000; // to place so many flags, before the smallest is left out
  const NARROW = 560; // px of a chart in which names are short
  const SHARE = 0.3; // of the chart that names take at most

  /** Return the groups with a row and an extent each, so that none hides another or the line from one to its point; null where they do not fit. */
  function arranged(groups, room) {
    let tries = TRIES;
    const isFree = (flag, placed) => placed.every((other) => {
      if (other.row === flag.row) return flag.start > other.end + 4 || flag.end + 4 < other.start;
      const [upper, lower] = other.row > flag.row ? [other, flag] : [flag, other];
      return upper.x < lower.start - 2 || upper.x > lower.end + 2;
    });
    const next = (placed) => {
      if (placed.length === groups.length) return placed;
      const group = groups[placed.length];
      for (let row = room.rows - 1; row >= 0; row--) {
        for (const share of [0.03, 0.5, 0.97]) {
          if (!tries--) return null;
          const start = Math.min(Math.max(group.x - share * group.width, room.least), room.most - group.width);
          const flag = { ...group, row, start, end: start + group.width };
          const all = isFree(flag, placed) && next([...placed, flag]);
          if (all || tries < 0) return all || null;
        }
      }
      return null;
    };
    return next([]);
  }

  return {
    /* -- names of methods -- */

    /** Make the name of each line, a link to its history, and return the width that they need. */
    makeNames(width) {
      const narrow = width < NARROW;
      this.ends = this.drawn.filter((line) => !line.over && line.y.slice(this.first, this.last + 1).some((value) => value !== null)).map((line) => {
        const method = line.entry.method, focus = () => this.focusOn(method), blur = () => this.focusOn("");
        const label = element("a", { class: `hc-name s${line.colour}`, href: line.address, title: line.code, "aria-label": line.code, onpointerenter: focus, onpointerleave: blur, onfocus: focus, onblur: blur }, markOf(line), breakable(narrow ? shortName(line.code) : line.code));
        label.style.maxWidth = `${Math.round(SHARE * width)}px`;
        return { line, label };
      });
      this.labels.classList.toggle("narrow", narrow);
      this.labels.replaceChildren(...this.ends.map(({ label }) => label));
      return NAME_GAP + Math.max(0, ...this.ends.map(({ label }) => label.offsetWidth));
    },

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
    },

    /* -- flags of changes -- */

    /** Return the changes shown, by release. */
    changes() {
      const groups = new Map();
      for (const line of this.drawn.filter((each) => !each.over)) {
        for (const step of line.steps) {
          if (step.release < this.first || step.release > this.last || line.y[step.release] === null) continue;
          if (!groups.has(step.release)) groups.set(step.release, { release: step.release, steps: [], size: 0 });
          const group = groups.get(step.release);
          group.steps.push({ line, step });
          group.size = Math.max(group.size, Math.abs(Math.log(step.ratio)));
        }
      }
      return [...groups.values()];
    },

    /** Make a flag for each change that finds a place in the rows above the plot, the largest first, and return how high the rows are. */
    makeFlags(left, width, right) {
      const groups = this.changes().sort((a, b) => b.size - a.size).slice(0, MOST_FLAGS).map((group) => ({ ...group, flag: this.flag(group) }));
      this.flags.replaceChildren(...groups.map(({ flag }) => flag));
      for (const group of groups) {
        group.x = (width * (group.release - this.first + 0.5)) / (this.last - this.first + 1);
        group.width = group.flag.offsetWidth;
      }
      const room = { least: -left, most: width + right, rows: matchMedia(PHONE).matches ? ROWS_ON_PHONE : ROWS };
      this.flagged = [];
      for (const group of groups) this.flagged = arranged([...this.flagged, group].sort((a, b) => a.release - b.release), room) || this.flagged;
      this.flags.replaceChildren(...this.flagged.map(({ flag }) => flag));
      return 8 + FLAG_ROW * Math.max(0, ...this.flagged.map(({ row }) => row + 1));
    },

    placeFlags(offset) {
      for (const { flag, start, row } of this.flagged) Object.assign(flag.style, { left: `${offset.x + start}px`, top: `${offset.y - FLAG_ROW * (row + 1)}px` });
      this.flags.append(...this.arrows.map((arrow) => this.arrowTip(arrow, offset)));
    },

    /** Return an element over an arrow that shows its value to the pointer. */
    arrowTip({ line, at, up }, offset) {
      const tip = element("span", { class: "hc-arrow", title: `${line.code}: ${words.outside(this.valueText(line, at))}` });
      Object.assign(tip.style, { left: `${this.uplot.valToPos(at, "x") - 8 + offset.x}px`, top: `${(up ? 0 : this.over.clientHeight - 14) + offset.y}px` });
      return tip;
    },

    /** Return a flag: the release, how large its changes are, slower and faster ones apart, and whose they are. */
    flag(group) {
      const { release, steps } = group;
      const title = steps.map((each) => `${each.line.code}: ${this.sentence(each.step)}`).join("\n");
      const flag = element("a", { class: "hc-flag", href: this.evidence(group), title, onfocus: () => this.readAt(release) }, this.names[release]);
      for (const up of [true, false]) {
        const those = steps.filter(({ step }) => step.ratio > 1 === up);
        if (!those.length) continue;
        const sizes = those.map(({ step }) => Math.round(Math.abs(100 * (step.ratio - 1)))), [least, most] = [Math.min(...sizes), Math.max(...sizes)];
        flag.append(element("span", { class: this.verdictOf(up) }, `${up ? "+" : "−"}${least === most ? "" : `${least}…`}${most}\u202f%`));
        flag.append(...those.map(({ line }) => markOf(line)));
      }
      if (steps.length === 1 && !matchMedia(PHONE).matches) flag.append(element("code", { class: `hc-of s${steps[0].line.colour}` }, shortName(steps[0].line.code)));
      flag.append(element("span", { class: "unseen" }, `. ${title}`));
      return flag;
    },

    /** Return the class of a change's size: only a time is slower or faster. */
    verdictOf(up) {
      if (!TIME_UNITS.includes(this.state.unit)) return "hc-step";
      return `hc-step ${up ? "slower" : "faster"}`;
    },

    sentence(step) {
      return step.sentence || `${step.text} ${words[this.state.unit]}`;
    },

    /** Return the address of the evidence: the history of the case, or the comparison where several changed. */
    evidence({ release, steps }) {
      if (steps.length === 1) return steps[0].line.address;
      const [{ step, line }] = steps, { machine } = this;
      const before = tensorHistory.previous(line, release);
      const index = (at) => machine.releases.indexOf(this.axis[at]);
      return this.addressOf(machine.comparison(step.python, index(before), index(release))) || line.address;
    },

    addressOf(address) {
      return address && `${this.root}${address}`;
    },

    /* -- one method -- */

    /** Bring a method's line forward, with its interval; "" for none. */
    focusOn(method) {
      if (this.focus === method) return;
      this.focus = method;
      for (const { line, label } of this.ends) label.classList.toggle("dim", this.shade(line) < 1);
      for (const { flag, steps } of this.flagged) flag.classList.toggle("dim", steps.every(({ line }) => this.shade(line) < 1));
      this.uplot.redraw(false, false);
    },
  };
})();
