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
  const whole = new RegExp(`(^|[^\\w.])${wanted}(?![\\d.])`);
  return (text) => whole.test(text); // 16 is not part of 16384, nor of float16
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
  const textOf = (row) => row.cells[0].textContent + " " + row.textContent.slice(row.cells[0].textContent.length); // a case may end in a number
  table.closest(".scroll").before(...searchOf(rows, "row", textOf, show));
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
  note.after(...searchOf(cells, "case", (cell) => [...namesOf(cell), cell.className].join(" "), show));
}

/* Returns what a cell of a table of cases is about: its method, suite, parameters and change. */
function namesOf(cell) {
  const table = cell.closest("table"), header = table.tHead.rows[0].cells[cell.cellIndex];
  return [cell.parentElement.cells[0].textContent, table.caption.textContent, header.textContent, cell.textContent.trim()];
}
