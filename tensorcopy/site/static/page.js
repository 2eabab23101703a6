/* Everything works without this: the theme, buttons that copy, selects in place of folds, and charts that answer to a pointer. */
"use strict";
const root = document.documentElement;

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function stored(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    return localStorage.getItem(name) ?? "";
  } catch {
    return ""; // storage may be forbidden
  }
}

root.classList.add("js");
root.dataset.theme = stored("theme");
const theme = document.getElementById("theme");
theme.hidden = false;
theme.onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = stored("theme", dark ? "light" : "dark");
};

for (const block of document.querySelectorAll("pre, [data-copy]")) {
  const text = block.textContent;
  const button = element("button", { type: "button", textContent: root.lang === "ja" ? "コピー" : "Copy" });
  button.setAttribute("aria-label", `Copy ${text.slice(0, 60)}`);
  button.onclick = () => navigator.clipboard.writeText(text).then(() => (button.textContent += " ✓"));
  block.after(" ", button);
}

/* A choice among parts, of which one is shown: [data-choice="device, size"] holds parts such as [data-part="CPU; 2¹⁴ elements"]. */
class Choice {
  /* A control with a name: buttons for up to three options, a select for more. */
  constructor(name, onchange) {
    this.select = element("select");
    this.box = element("fieldset", {}, element("label", {}, `${name} `, this.select));
    this.select.onchange = onchange;
  }

  offer(options, wanted) {
    this.select.replaceChildren(...options.map((word) => element("option", { textContent: word })));
    if (options.includes(wanted)) this.select.value = wanted;
    this.box.hidden = options.length < 2;
    this.box.querySelectorAll("button").forEach((button) => button.remove());
    const areButtons = options.length <= 3;
    this.select.hidden = areButtons;
    for (const word of areButtons ? options : []) {
      const button = element("button", { type: "button", textContent: word });
      button.setAttribute("aria-pressed", String(word === this.select.value));
      button.onclick = () => {
        this.select.value = word;
        this.select.onchange();
      };
      this.box.append(button);
    }
  }
}

for (const holder of document.querySelectorAll("[data-choice]")) {
  const parts = [...holder.querySelectorAll(":scope > [data-part]")];
  const words = parts.map((part) => part.dataset.part.split("; "));
  const remembers = "remember" in holder.dataset; // the device, its first choice, for other pages
  const choose = () => {
    const id = show(choices.map((choice) => choice.select.value));
    if (remembers) stored("device", choices[0].select.value);
    if (id) history.replaceState(null, "", `#${id}`);
  };
  const choices = holder.dataset.choice.split(", ").map((name) => new Choice(name, choose));
  const show = (wanted) => {
    let left = words.map((_, index) => index);
    choices.forEach((choice, place) => {
      const options = [...new Set(left.map((index) => words[index][place]).filter(Boolean))];
      choice.offer(options, wanted[place]);
      left = left.filter((index) => !options.length || words[index][place] === choice.select.value);
    });
    parts.forEach((part, index) => {
      part.hidden = index !== left[0];
      if (part.localName === "details") part.open = true;
    });
    return parts[left[0]]?.id || parts[left[0]]?.querySelector("[id]")?.id;
  };
  const open = () => {
    const target = location.hash.slice(1) && document.getElementById(location.hash.slice(1));
    const named = parts.find((part) => target && part.contains(target));
    if (named) show(words[parts.indexOf(named)]);
  };
  const ordered = [...parts.filter((part) => remembers && part.dataset.part.startsWith(stored("device"))), ...parts];
  holder.prepend(element("div", { className: "controls" }, ...choices.map((choice) => choice.box)));
  show(words[parts.indexOf(ordered.find((part) => "first" in part.dataset) ?? ordered[0])] ?? []);
  open();
  addEventListener("hashchange", open);
}

/* A chart: the values of the release under the pointer stand below it, and an entry of the key hides its line. */
for (const figure of document.querySelectorAll("figure:has(.chart)")) {
  const areas = figure.querySelectorAll("rect");
  const readout = element("p", { className: "readout", hidden: !areas.length });
  figure.append(readout);
  for (const area of areas) {
    const title = area.querySelector("title");
    const text = title.textContent.split("\n").join(" · ");
    area.onpointerenter = () => (readout.textContent = text);
  }
  for (const entry of figure.querySelectorAll(".key li")) {
    const name = entry.textContent;
    const button = element("button", { type: "button" }, ...entry.childNodes);
    const lines = [...figure.querySelectorAll("[data-line]")].filter((line) => line.dataset.line === name);
    button.setAttribute("aria-pressed", "true");
    button.onclick = () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(shown));
      for (const line of lines) line.toggleAttribute("hidden", !shown);
    };
    entry.replaceChildren(button);
  }
}

/* A link into a fold opens it, also in browsers that do not do so by themselves. */
function unfold() {
  const target = location.hash.slice(1) && document.getElementById(location.hash.slice(1));
  for (let each = target; each; each = each.parentElement) if (each.localName === "details") each.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
