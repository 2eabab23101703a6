/* A switch between light and dark, the menu, a filter, sorting and bars of tables, trees, texts of plots, the choice of a pair. Pages are complete without it. */
"use strict";

const root = document.documentElement;
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
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "◐";
  button.title = tools.dataset.label;
  button.setAttribute("aria-label", tools.dataset.label);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storedTheme(root.dataset.theme);
  });
  tools.append(button);
}

/* Filter: every word of the query must occur in a row. "2^14", "2**14", "2¹⁴", "16k" and "16384" are the same word. */

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
  const whole = new RegExp(`(^|[^\\d.])${wanted}(?![\\d.])`);
  return (text) => whole.test(text); // 16 is not part of 16384
}

/* Returns a search field and its message. `show` gets the items whose text matches. */
function searchOf(items, name, textOf, show) {
  const texts = new Map(items.map((item) => [item, searchable(textOf(item))]));
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = `filter ${items.length} ${name}s`;
  input.setAttribute("aria-label", input.placeholder);
  const message = document.createElement("p");
  message.className = "note";
  message.setAttribute("role", "status");
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
  table.closest(".scroll").before(...searchOf(rows, "row", (row) => row.textContent, show));
}

/* The cells of all tables of cases: those that do not match are pale, and rows and tables without a match are hidden. */
function addCaseFilter(note) {
  const tables = [...document.querySelectorAll("table.cells")];
  const cells = tables.flatMap((table) => [...table.querySelectorAll("td:not(:empty)")]);
  const show = (shown) => {
    for (const cell of cells) cell.classList.toggle("other", !shown.has(cell));
    for (const table of tables) {
      for (const row of table.tBodies[0].rows) row.hidden = ![...row.cells].some((cell) => shown.has(cell));
      table.closest(".scroll").hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
    }
  };
  note.after(...searchOf(cells, "case", (cell) => namesOf(cell).join(" "), show));
}

/* Returns what a cell of a table of cases is about: its method, suite, parameters and change. */
function namesOf(cell) {
  const table = cell.closest("table"), header = table.tHead.rows[0].cells[cell.cellIndex];
  return [cell.parentElement.cells[0].textContent, table.caption.textContent, header.textContent, cell.textContent.trim()];
}

/* Sort: a column by its numbers (with their units) or else by its text; empty cells last. Rows stay in their section. */

const UNITS = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function valueOf(cell) {
  if (cell.dataset.value) return Number(cell.dataset.value);
  const text = cell.textContent.trim().replace(/[\u202f\u2009 ](?=\d)/g, "").replace("−", "-");
  const number = text.match(/^\D*?([+-]?\d[\d.]*)\s*(\S*)/);
  if (!text || !number || cell.tagName === "TH") return text;
  return Number(number[1]) * (UNITS[number[2]] || 1);
}

function compared(left, right) {
  if (left === "" || right === "") return (left === "") - (right === "");
  return typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right), "en", { numeric: true });
}

function addSorting(table) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...header.childNodes);
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

/* Draws a bar beside each change of a table, as long as it is large, in a column after that of the changes. */
const CHANGES = 3, LONGEST_BAR = 100; // half the width of the drawing

function addBars(table) {
  const name = document.createElement("th");
  name.className = "w";
  name.textContent = table.dataset.bars;
  table.tHead.rows[0].cells[CHANGES].after(name);
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const changes = rows.map((row) => valueOf(row.cells[CHANGES]) || 0);
  const largest = Math.max(...changes.map(Math.abs)) || 1;
  rows.forEach((row, number) => {
    const width = Math.round((LONGEST_BAR * changes[number]) / largest);
    row.insertCell(CHANGES + 1).innerHTML = `<svg aria-hidden="true"><path d="M0 1h${width}v8H0"/></svg>`;
  });
}

/* Makes a nested list a tree whose branches open and close; those of the class "closed" are closed at first. */
function addTree(tree) {
  for (const list of [...tree.querySelectorAll("li > ul")]) {
    const item = list.parentElement;
    const branch = document.createElement("details");
    const name = document.createElement("summary");
    branch.open = !item.classList.contains("closed");
    branch.append(name, list);
    name.append(...item.childNodes);
    item.append(branch);
  }
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = tree.dataset.tree;
  tree.before(note);
}

/* Read a plot: a position shows the text of its rows; a click leads to the first of them. */

const EDGES = [52, 10]; // of the values in a plot, from the left and the right; see svg_plot.py

function rowsAt(plot, share) {
  if (plot.classList.contains("changes")) {
    const rows = [...document.querySelectorAll("[id^=c]")].filter((row) => /^c\d+$/.test(row.id));
    const drawn = plot.querySelectorAll(".dot").length && [...plot.querySelectorAll(".dot")].reduce((sum, dot) => sum + dot.getAttribute("d").split("h0").length - 1, 0);
    return rows.filter((row) => row.id === `c${Math.floor(share * drawn) + 1}`);
  }
  const names = [...plot.closest("figure").querySelectorAll(".n text")].map((text) => text.textContent);
  return [...document.querySelectorAll(".releases tbody tr")].filter((row) => row.cells[0].textContent === names[Math.floor(share * names.length)]);
}

function textOf(row) {
  const cells = row.cells ? [...row.cells].map((cell) => cell.textContent.trim()) : namesOf(row);
  return row.closest(".releases") ? `${cells[0]}, Python ${cells[1]}: ${cells[2]}` : cells.slice(0, 4).filter(Boolean).join("  ");
}

function addReading(plot) {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const rowsUnder = (event) => {
    const box = plot.getBoundingClientRect(), scale = plot.viewBox.baseVal.width / box.width;
    const share = ((event.clientX - box.left) * scale - EDGES[0]) / (plot.viewBox.baseVal.width - EDGES[0] - EDGES[1]);
    return share >= 0 && share < 1 ? rowsAt(plot, share) : [];
  };
  plot.addEventListener("pointermove", (event) => {
    const rows = rowsUnder(event);
    tip.hidden = !rows.length;
    tip.textContent = rows.map(textOf).join("\n");
    tip.style.top = `${event.pageY + 16}px`;
    tip.style.left = `${Math.max(8, Math.min(event.pageX, root.clientWidth - tip.offsetWidth - 8))}px`;
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => {
    const rows = event.target.closest("a") ? [] : rowsUnder(event);
    if (rows.length) location.hash = `#${rows[0].id}`;
  });
}

/* Choose a pair: it opens its page, or the explorer with both releases marked. The fragment is #from=A&to=B&on=MACHINE/ENVIRONMENT. */

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
    const { releases, page } = on.selectedOptions[0].dataset;
    if (page) return location.assign(`${page}#from=${wanted.from}&to=${wanted.to}&on=${on.value}`);
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

/* Puts the menu of menu.js, with the entries that a narrow header has no room for, in place of the link to a page that has it. */
const SITE = new URL(".", document.currentScript.src);

function addMenu(link) {
  const menu = document.createElement("details");
  const name = document.createElement("summary");
  const panel = document.createElement("div");
  panel.innerHTML = `<ul class="narrow-only"></ul>${MENUS[root.lang]}`;
  for (const target of panel.querySelectorAll("a")) target.href = new URL(target.getAttribute("href"), SITE);
  for (const entry of document.querySelectorAll(".top nav > a.wide")) {
    const item = document.createElement("li");
    item.append(entry.cloneNode(true));
    item.firstChild.removeAttribute("class");
    panel.firstChild.append(item);
  }
  menu.className = "menu";
  panel.className = "menu-panel";
  name.append(...link.childNodes);
  menu.append(name, panel);
  link.replaceWith(menu);
}

/* Closes the menu of the header with Escape, and where anything else is clicked or focused. */
function addClosing(menu) {
  const closeOutside = (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  };
  document.addEventListener("click", closeOutside);
  document.addEventListener("focusin", closeOutside);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

document.addEventListener("DOMContentLoaded", () => {
  if (typeof MENUS !== "undefined") document.querySelectorAll("a.menu").forEach(addMenu);
  document.querySelectorAll("details.menu").forEach(addClosing);
  document.querySelectorAll(".tools").forEach(addSwitch);
  document.querySelectorAll("table[data-filter]").forEach(addFilter);
  document.querySelectorAll("[data-search]").forEach(addCaseFilter);
  document.querySelectorAll("table[data-sort]").forEach(addSorting);
  document.querySelectorAll("table[data-bars]").forEach(addBars);
  document.querySelectorAll("[data-tree]").forEach(addTree);
  document.querySelectorAll(".plot.case, .plot.changes").forEach(addReading);
  document.querySelectorAll("form[data-pairs]").forEach(addPairs);
});
