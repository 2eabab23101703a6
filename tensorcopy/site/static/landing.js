/* The landing page: two selects for the question of an upgrade. The page is complete without it. */
"use strict";

function filled(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => values[name]);
}

/* `pairs` has a row for every two releases, in order of both: slower, faster and cases of copies and of conversions, and a link
without `folder`. */
class Upgrades {
  constructor(section, data) {
    Object.assign(this, data);
    this.counts = section.querySelector(".counts");
    const heading = section.querySelector("h2");
    this.before = this.addSelect(heading.querySelector(".before"), this.texts.upgrade_from, this.releases.slice(0, -1));
    this.after = this.addSelect(heading.querySelector(".after"), this.texts.upgrade_to, this.releases.slice(1));
    this.disableOlder();
  }

  addSelect(place, label, releases) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    select.append(...releases.map((release) => new Option(release, release)));
    select.value = place.textContent;
    select.addEventListener("change", () => this.show());
    place.replaceChildren(select);
    return select;
  }

  get indices() {
    return [this.before, this.after].map((select) => this.releases.indexOf(select.value));
  }

  disableOlder() {
    const [before] = this.indices;
    for (const option of this.after.options) option.disabled = this.releases.indexOf(option.value) <= before;
  }

  show() {
    let [before, after] = this.indices;
    if (after <= before) {
      after = this.releases.length - 1;
      this.after.value = this.releases[after];
    }
    this.disableOlder();
    const count = this.releases.length;
    const row = this.pairs[before * count - (before * (before + 1)) / 2 + after - before - 1];
    this.counts.replaceChildren(this.sentences(row).join(" "), " ", this.evidence(row[6]));
  }

  sentences(row) {
    const kinds = [
      [this.texts.upgrade_copies, row.slice(0, 3)],
      [this.texts.upgrade_conversions, row.slice(3, 6)],
    ];
    return kinds.filter(([, [, , cases]]) => cases).map(([text, [slower, faster, cases]]) => filled(text, { slower, faster, cases }));
  }

  evidence(link) {
    const element = document.createElement(link ? "a" : "small");
    element.textContent = link ? this.texts.evidence : this.texts.upgrade_counted;
    if (link) element.href = this.folder + link;
    return element;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const data = document.getElementById("upgrades");
  if (data) new Upgrades(document.querySelector(".upgrade"), JSON.parse(data.textContent));
});
