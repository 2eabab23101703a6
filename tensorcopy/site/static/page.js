/* Everything works without this: the theme, buttons that copy, filters, selects in place of folds, and charts that answer to a pointer. */
"use strict";
const root = document.documentElement;

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function stored(theme) {
  try {
    if (theme) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme") ?? "";
  } catch {
    return ""; // storage may be forbidden
  }
}

root.dataset.theme = stored();
const theme = document.getElementById("theme");
theme.hidden = false;
theme.onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = stored(dark ? "light" : "dark");
};

for (const block of document.querySelectorAll("pre, [data-copy]")) {
  const text = block.textContent;
  const button = element("button", { type: "button", textContent: "Copy" });
  button.setAttribute("aria-label", `Copy ${text.slice(0, 60)}`);
  button.onclick = () => navigator.clipboard.writeText(text).then(() => (button.textContent = "Copied"));
  block.after(" ", button);
}

for (const table of document.querySelectorAll("table[data-filter]")) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  if (rows.length < 8) continue;
  const input = element("input", { type: "search", placeholder: `filter ${rows.length} rows`, ariaLabel: "filter" });
  input.oninput = () => {
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(input.value.toLowerCase());
  };
  table.parentElement.before(input);
}

/* A select for each attribute of some parts, of which the chosen one is shown: [data-choice] holds [data-part="device, kind, …"]. */
for (const holder of document.querySelectorAll("[data-choice]")) {
  const names = holder.dataset.choice.split(", ");
  const parts = [...holder.querySelectorAll("[data-part]")];
  const words = parts.map((part) => part.dataset.part.split("; "));
  const controls = element("div", { className: "controls" });
  const selects = names.map((name) => {
    const select = element("select");
    controls.append(element("label", {}, `${name} `, select));
    return select;
  });
  const show = (wanted) => {
    let left = words.map((_, index) => index);
    selects.forEach((select, place) => {
      const options = [...new Set(left.map((index) => words[index][place]).filter(Boolean))];
      select.replaceChildren(...options.map((word) => element("option", { textContent: word })));
      if (options.includes(wanted[place])) select.value = wanted[place];
      select.parentElement.hidden = options.length < 2;
      left = left.filter((index) => !options.length || words[index][place] === select.value);
    });
    parts.forEach((part, index) => {
      part.hidden = index !== left[0];
      if (part.localName === "details") part.open = index === left[0];
    });
  };
  const target = location.hash.slice(1) && document.getElementById(location.hash.slice(1));
  const first = parts.findIndex((part) => target && (part === target || part.contains(target)));
  const opened = parts.findIndex((part) => part.dataset.first !== undefined);
  controls.onchange = () => show(selects.map((select) => select.value));
  holder.prepend(controls);
  show(words[first >= 0 ? first : Math.max(opened, 0)] ?? []);
}

/* A chart: the values of the release under the pointer stand below it, and an entry of the key hides its line. */
for (const figure of document.querySelectorAll("figure:has(.chart)")) {
  const readout = element("p", { className: "readout" });
  figure.append(readout);
  for (const area of figure.querySelectorAll("rect")) {
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
