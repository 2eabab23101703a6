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
    const rows = event.target.closest("a") ? [] : rowsUnder(event);
    if (rows.length) location.hash = `#${rows[0].id}`;
  });
}
