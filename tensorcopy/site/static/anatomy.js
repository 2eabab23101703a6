/* Read the bars of an anatomy: each shows its numbers, which stand below the components, and a part opens its component. */
document.querySelectorAll(".anatomy").forEach(addNumbers);

function barAt(plot, event) { // the number of the bar, by the component that most bars have
  const [moves] = [...plot.querySelectorAll(".bars path")].map((path) => path.getAttribute("d").match(/m\d+/gi)).sort((a, b) => b.length - a.length);
  const box = plot.getBoundingClientRect(), across = ((event.clientX - box.left) * plot.viewBox.baseVal.width) / box.width;
  const width = plot.querySelector(".bars").getAttribute("stroke-width");
  let place = 0;
  return moves.findIndex((move) => Math.abs((place += Number(move.slice(1))) - across) <= width / 2);
}

function addNumbers(section) {
  const plot = section.querySelector(".plot"), tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  const releases = [...plot.querySelectorAll(".n text")].map((text) => `torch ${text.textContent}`);
  const parts = [...section.querySelectorAll(".key details")].map((part) => [part.querySelector("summary").firstChild.textContent, part.querySelector("p").textContent.split(", ")]);
  document.body.append(tip);
  plot.addEventListener("pointermove", (event) => {
    const bar = barAt(plot, event);
    tip.hidden = bar < 0;
    tip.textContent = [releases[bar], ...parts.map(([name, numbers]) => `${name} ${numbers[bar]}`)].join("\n");
    tip.style.top = `${event.pageY + 16}px`;
    tip.style.left = `${Math.max(8, Math.min(event.pageX, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => {
    const part = event.target.closest(".bars path"), details = part && section.querySelector(`details.${part.classList[0]}`);
    if (details) details.open = !details.open;
  });
}
