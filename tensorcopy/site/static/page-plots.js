/* Read a plot: a position shows the text of its rows; a click leads to the first of them, or opens the functions of a component. */

const EDGES = [52, 10]; // of the values in a plot, from the left and the right; see svg_plot.py

function barAt(plot, x) { // the number of the bar, by the component that most bars have
  const [moves] = [...plot.querySelectorAll(".bars path")].map((path) => path.getAttribute("d").match(/m\d+/gi)).sort((a, b) => b.length - a.length);
  const width = plot.querySelector(".bars").getAttribute("stroke-width");
  let place = 0;
  return moves.findIndex((move) => Math.abs((place += Number(move.slice(1))) - x) <= width / 2);
}

function rowsAt(plot, share) {
  if (plot.classList.contains("parts")) {
    const number = barAt(plot, EDGES[0] + share * (plot.viewBox.baseVal.width - EDGES[0] - EDGES[1]));
    return [...plot.closest(".anatomy").querySelectorAll("tbody tr")].reverse().slice(number, number < 0 ? 0 : number + 1);
  }
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
  if (row.closest(".anatomy")) return cells.map((cell, column) => `${row.closest("table").tHead.rows[0].cells[column].textContent} ${cell}`).join("\n");
  if (!row.closest(".releases")) return cells.slice(0, 4).filter(Boolean).join("  ");
  const launches = cells.find((cell) => /^\d+: /.test(cell));
  return `${cells[0]}, Python ${cells[1]}: ${cells[2]}${launches ? `, launches ${launches.split(": ")[1]}` : ""}`;
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
    const part = event.target.closest(".bars path"), details = part && plot.closest(".anatomy").querySelector(`details.${part.classList[0]}`);
    if (details) details.open = !details.open;
    const rows = event.target.closest("a") ? [] : rowsUnder(event);
    if (rows.length && rows[0].id) location.hash = `#${rows[0].id}`;
  });
}
