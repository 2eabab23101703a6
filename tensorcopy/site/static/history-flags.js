/* The labels of changes in the history chart, and the links of each. Methods of HistoryChart (history-chart.js). */
"use strict";

const historyFlags = (() => {
  const { element, words } = historyControls;
  const { overlap } = historyAxes;

  return {
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
    },

    /** Return an element over an arrow that shows its value to the pointer. */
    arrowTip({ line, at }, box, offset) {
      const tip = element("span", { class: "hc-arrow", title: `${line.code}: ${words.outside(this.valueText(line, at))}` });
      Object.assign(tip.style, { left: `${box.left + offset.x}px`, top: `${box.top + offset.y}px` });
      return tip;
    },

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
    },

    flag(group, taken, place, offset) {
      const { release, steps } = group;
      steps.sort((a, b) => Math.abs(Math.log(b.step.ratio)) - Math.abs(Math.log(a.step.ratio)));
      const [{ step }] = steps;
      const rounded = step.text.replace(/\d+\.\d(?=\u202f?\s?%)/, (number) => Math.round(number));
      const several = steps.length > 1 ? ` · ${steps.length} ${words.lines}` : "";
      const name = `${this.names[release]}: ${rounded}${several}`;
      const title = steps.map((each) => `${each.line.code}: ${this.sentence(each.step)}`).join("\n");
      const anchor = element("a", { class: `hc-flag ${group.slower ? "slower" : "faster"}`, href: this.evidence(group), title }, name);
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
    },

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
    },

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
    },

    sentence(step) {
      return step.sentence || `${step.text} ${words[this.state.unit]}`;
    },

    /** Return the address of the evidence: the history of the case, or the comparison where several changed. */
    evidence({ release, steps }) {
      if (steps.length === 1) return steps[0].line.address;
      const { machine, step, line } = { machine: this.machine, ...steps[0] };
      const before = tensorHistory.previous(line, release);
      const index = (at) => machine.releases.indexOf(this.axis[at]);
      return this.addressOf(machine.comparison(step.python, index(before), index(release))) || line.address;
    },

    addressOf(address) {
      return address && `${this.root}${address}`;
    },
  };
})();
