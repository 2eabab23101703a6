/* Sort: a column by its numbers (with their units) or else by its text; empty cells last. Rows stay in their section. */

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
