/* What every page has: the switch between light and dark, copying, filters, sorting and the reading of plots. Pages are complete without it. */
"use strict";

const root = document.documentElement;

/** Return an element with attributes, of which those that begin with "on" are listeners. */
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

/* ---- light and dark ---- */

const THEMES = ["light", "dark"];

function storedTheme(theme) {
  try {
    if (theme !== undefined) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null; // storage may be forbidden
  }
}

if (THEMES.includes(storedTheme())) root.dataset.theme = storedTheme();

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function addSwitch(tools) {
  const { label } = tools.dataset;
  const change = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storedTheme(root.dataset.theme);
  };
  tools.append(element("button", { type: "button", title: label, "aria-label": label, onclick: change }, "◐"));
}

/* ---- buttons that copy code: beside each code of an answer, and at each block that is marked ---- */

const SHOWN_FOR = 2000; // ms, of the word "Copied"

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea"); // the clipboard may be forbidden, as in a page from the disk
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function addCopyButton(code, { copy, copied }) {
  const label = code.matches("code") ? `${copy}: ${code.textContent}` : copy;
  const button = element("button", { type: "button", class: "copy-code", "aria-label": label }, copy);
  button.addEventListener("click", async () => {
    await copyText(code.textContent);
    button.textContent = copied;
    setTimeout(() => (button.textContent = copy), SHOWN_FOR);
  });
  code.after(button);
}

function addCopying(marked) {
  for (const code of marked.matches("pre") ? [marked] : marked.querySelectorAll(".answer code, pre")) addCopyButton(code, marked.dataset);
}

/* ---- filter ----

Every word of the query must occur in a row. "2^14", "2**14", "2¹⁴", "16k" and "16384" are the same word. */

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SAME_WORDS = { regression: "slower", regressions: "slower", slowdown: "slower", improvement: "faster", improvements: "faster", speedup: "faster" };
const BINARY = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

function searchable(text) {
  return text
    .toLowerCase()
    .replace(/[\u202f\u2009]/g, "")
    .replace(/2([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, (_, digits) => 2 ** [...digits].map((digit) => SUPERSCRIPTS.indexOf(digit)).join(""))
    .replace(/\b2(?:\^|\*\*)(\d{1,2})\b/g, (_, exponent) => 2 ** exponent);
}

function matcher(word) {
  const size = word.match(/^(\d+)(k|m|g)(i|ib)?$/);
  const wanted = size ? String(size[1] * BINARY[size[2]]) : SAME_WORDS[word] || word;
  if (!/^\d+$/.test(wanted)) return (text) => text.includes(wanted);
  const whole = new RegExp(`(^|[^\\w.])${wanted}(?![\\d.])`);
  return (text) => whole.test(text); // 16 is not part of 16384, nor of float16
}

/* Returns a search field and its message. `show` gets the items whose text matches. */
function searchOf(items, name, textOf, show) {
  const texts = new Map(items.map((item) => [item, searchable(textOf(item))]));
  const text = `filter ${items.length} ${name}s`;
  const input = element("input", { type: "search", placeholder: text, "aria-label": text });
  const message = element("p", { class: "note", role: "status" });
  input.addEventListener("input", () => {
    const matchers = searchable(input.value).split(/\s+/).filter(Boolean).map(matcher);
    const shown = new Set(items.filter((item) => matchers.every((matches) => matches(texts.get(item)))));
    show(shown);
    message.textContent = shown.size ? "" : `No ${name} matches “${input.value.trim()}”.`;
  });
  return [input, message];
}

function addFilter(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.classList.contains("section"));
  const show = (shown) => {
    for (const row of rows) row.hidden = !shown.has(row);
    for (const body of table.tBodies) body.hidden = [...body.rows].every((row) => row.hidden || row.classList.contains("section"));
  };
  const textOf = (row) => row.cells[0].textContent + " " + row.textContent.slice(row.cells[0].textContent.length); // a case may end in a number
  table.closest(".scroll").before(...searchOf(rows, "row", textOf, show));
}

/* The cells of all tables of cases: those that do not match are pale, and rows and tables without a match are hidden. A fold is open while
one searches. */
function addCaseFilter(note) {
  const tables = [...document.querySelectorAll("table.cells")];
  const cells = tables.flatMap((table) => [...table.querySelectorAll("td:not(:empty)")]);
  const shownAtFirst = new Set(document.querySelectorAll("details[open]"));
  const show = (shown) => {
    for (const cell of cells) cell.classList.toggle("other", !shown.has(cell));
    for (const table of tables) {
      for (const row of table.tBodies[0].rows) row.hidden = ![...row.cells].some((cell) => shown.has(cell));
      const fold = table.closest("details");
      (fold || table.closest(".scroll")).hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
      if (fold) fold.open = shown.size < cells.length || shownAtFirst.has(fold);
    }
  };
  const classesOf = (cell) => [cell, ...cell.children].map((part) => part.className);
  note.after(...searchOf(cells, "case", (cell) => [...namesOf(cell), ...classesOf(cell)].join(" "), show));
}

/* Returns what a cell of a table of cases is about: its method, suite, parameters and change. */
function namesOf(cell) {
  const table = cell.closest("table"), header = table.tHead.rows[0].cells[cell.cellIndex];
  const title = table.caption || table.closest("details").querySelector("summary");
  return [cell.parentElement.cells[0].textContent, title.textContent, header.textContent, cell.textContent.trim()];
}

/* ---- sort ----

A column by its numbers (with their units) or else by its text; empty cells last. Rows stay in their section. */

const UNITS = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function valueOf(cell) {
  const text = cell.textContent.trim().replace(/[\u202f\u2009 ](?=\d)/g, "").replace("−", "-");
  const number = text.match(/^\D*?([+-]?\d[\d.]*)\s*(\S*)/);
  if (cell.tagName === "TH") return searchable(text); // sizes as numbers
  const value = number ? Number(number[1]) * (UNITS[number[2]] || 1) : NaN;
  return Number.isNaN(value) ? text : value; // a version is a text
}

function compared(left, right) {
  if (left === "" || right === "") return (left === "") - (right === "");
  return typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right), "en", { numeric: true });
}

function addSorting(table) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = element("button", { type: "button", class: "sort" }, ...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const descending = header.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("section"));
        const values = new Map(rows.map((row) => [row, valueOf(row.cells[column])]));
        const filled = rows.filter((row) => values.get(row) !== "").sort((a, b) => compared(values.get(a), values.get(b)));
        body.append(...(descending ? filled.reverse() : filled), ...rows.filter((row) => values.get(row) === ""));
      }
    });
  });
}

/* ---- the reading of plots ---- */

/** Show a text beside the pointer over a plot; `textAt` returns that of an event's place, "" for none. */
function addTip(plot, textAt) {
  const tip = element("div", { class: "tip", hidden: true });
  document.body.append(tip);
  plot.addEventListener("pointermove", (event) => {
    tip.textContent = textAt(event);
    tip.hidden = !tip.textContent;
    tip.style.top = `${event.pageY + 16}px`;
    tip.style.left = `${Math.max(8, Math.min(event.pageX, root.clientWidth - tip.offsetWidth - 8))}px`;
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
}

/** Return how far to the right a pointer is, in the units of a plot. */
function across(plot, event) {
  const box = plot.getBoundingClientRect();
  return ((event.clientX - box.left) * plot.viewBox.baseVal.width) / box.width;
}

/* A position in the plot of a case shows the text of its rows; a click leads to the first of them. */

const EDGES = [52, 10]; // of the values in a plot, from the left and the right; see svg.py

function rowsAt(plot, share) {
  const names = [...plot.closest("figure").querySelectorAll(".n text")].map((text) => text.textContent);
  return [...document.querySelectorAll(".releases tbody tr")].filter((row) => row.cells[0].textContent === names[Math.floor(share * names.length)]);
}

function textOf(row) {
  const cells = [...row.cells].map((cell) => cell.textContent.trim());
  const launches = cells.find((cell) => /^\d+: /.test(cell));
  return `${cells[0]}, Python ${cells[1]}: ${cells[2]}${launches ? `, launches ${launches.split(": ")[1]}` : ""}`;
}

function addReading(plot) {
  const rowsUnder = (event) => {
    const share = (across(plot, event) - EDGES[0]) / (plot.viewBox.baseVal.width - EDGES[0] - EDGES[1]);
    return share >= 0 && share < 1 ? rowsAt(plot, share) : [];
  };
  addTip(plot, (event) => rowsUnder(event).map(textOf).join("\n"));
  plot.addEventListener("click", (event) => {
    const rows = event.target.closest("a") ? [] : rowsUnder(event);
    if (rows.length) location.hash = `#${rows[0].id}`;
  });
}

/* The bars of a call's instructions: each shows its numbers, which stand below the components, and a part opens its component. */

function barAt(plot, event) { // the number of the bar, by the component that most bars have
  const [moves] = [...plot.querySelectorAll(".bars path")].map((path) => path.getAttribute("d").match(/m\d+/gi)).sort((a, b) => b.length - a.length);
  const x = across(plot, event), width = plot.querySelector(".bars").getAttribute("stroke-width");
  let place = 0;
  return moves.findIndex((move) => Math.abs((place += Number(move.slice(1))) - x) <= width / 2);
}

function addNumbers(section) {
  const plot = section.querySelector(".plot"), releases = [...plot.querySelectorAll(".n text")].map((text) => `torch ${text.textContent}`);
  const parts = [...section.querySelectorAll(".key details")].map((part) => [part.querySelector("summary").firstChild.textContent, part.querySelector("p").textContent.split(", ")]);
  addTip(plot, (event) => {
    const bar = barAt(plot, event);
    return bar < 0 ? "" : [releases[bar], ...parts.map(([name, numbers]) => `${name} ${numbers[bar]}`)].join("\n");
  });
  plot.addEventListener("click", (event) => {
    const part = event.target.closest(".bars path"), details = part && section.querySelector(`details.${part.classList[0]}`);
    if (details) details.open = !details.open;
  });
}

/* ---- the choice of two releases ----

It opens its page, or the explorer with both releases marked. The fragment is #from=A&to=B&on=MACHINE/ENVIRONMENT. */

function addPairs(form) {
  const { on, from, to } = form.elements, note = form.querySelector("[role=status]");
  const target = () => {
    const { folder, python } = on.selectedOptions[0].dataset;
    const releases = [...from.options].map((option) => option.value);
    const [before, after] = [from.value, to.value].sort((a, b) => releases.indexOf(a) - releases.indexOf(b));
    const page = `${folder}${before}..${after}.html`;
    const permanent = [...document.querySelectorAll(".pairs a")].some((link) => link.getAttribute("href") === page);
    return { before, after, permanent, address: permanent ? page : `${form.dataset.explorer}#base=${before}&with=${after}&python=${python}` };
  };
  const show = () => {
    const { before, after, permanent } = target();
    form.querySelector("button").disabled = before === after;
    if (before === after) note.textContent = "Choose two different releases.";
    else if (permanent) note.textContent = `Opens the comparison of all cases, ${before} → ${after}, with verdicts.`;
    else note.textContent = `${before} → ${after} has no page of its own: opens the explorer with both releases marked.`;
  };
  const fill = (wanted) => {
    const { releases } = on.selectedOptions[0].dataset;
    const names = releases.split(" ");
    for (const [select, value] of [[from, names[Math.max(0, names.length - 2)]], [to, names[names.length - 1]]]) {
      select.replaceChildren(...names.map((name) => new Option(name, name)));
      select.value = names.includes(wanted[select.name]) ? wanted[select.name] : value;
    }
    return show();
  };
  const read = () => {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if ([...on.options].some((option) => option.value === wanted.on)) on.value = wanted.on;
    fill(wanted);
  };
  form.addEventListener("change", (event) => {
    if (event.target === on) fill({ from: from.value, to: to.value });
    else show();
    history.replaceState(null, "", `#from=${from.value}&to=${to.value}&on=${on.value}`);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(target().address);
  });
  addEventListener("hashchange", read);
  read();
  form.hidden = false;
}

/* ---- a select for the question of an upgrade on the landing page ---- */

/* `upgrades` has a row for each release: slower, faster and cases of copies and of conversions, and a link. */
function addUpgrades(block) {
  const { upgrades, texts } = JSON.parse(block.textContent), section = block.closest(".upgrade");
  const place = section.querySelector("h2 .before"), counts = section.querySelector(".counts");
  const filled = (text, values) => text.replace(/{(\w+)}/g, (_, name) => values[name]);
  const select = element("select", { "aria-label": texts.upgrade_from }, ...Object.keys(upgrades).map((release) => new Option(release, release)));
  select.value = place.textContent;
  place.replaceChildren(select);
  select.addEventListener("change", () => {
    const row = upgrades[select.value], kinds = [[texts.upgrade_copies, row.slice(0, 3)], [texts.upgrade_conversions, row.slice(3, 6)]];
    const sentences = kinds.filter(([, [, , cases]]) => cases).map(([text, [slower, faster, cases]]) => filled(text, { slower, faster, cases }));
    counts.replaceChildren(sentences.join(" "), ...(row[6] ? [" ", element("a", { href: row[6] }, texts.evidence)] : []));
  });
}

/* ---- start: the script is deferred, and all elements are there ---- */

document.querySelectorAll(".tools").forEach(addSwitch);
document.querySelectorAll("[data-copy]").forEach(addCopying);
document.querySelectorAll("table[data-filter]").forEach(addFilter);
document.querySelectorAll("[data-search]").forEach(addCaseFilter);
document.querySelectorAll("table[data-sort]").forEach(addSorting);
document.querySelectorAll(".plot.case").forEach(addReading);
document.querySelectorAll(".anatomy").forEach(addNumbers);
document.querySelectorAll("form[data-pairs]").forEach(addPairs);
document.querySelectorAll(".upgrade > script").forEach(addUpgrades);
