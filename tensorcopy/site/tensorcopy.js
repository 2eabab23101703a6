/* Only adds: a switch between light and dark, and a filter above long tables. Everything is there without it. */
"use strict";

const root = document.documentElement;
const THEMES = ["light", "dark"];

function remembered(theme) {
  try {
    if (theme !== undefined) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null; // storage may be forbidden
  }
}

if (THEMES.includes(remembered())) root.dataset.theme = remembered();

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function addSwitch(place) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "◐";
  button.title = place.dataset.label;
  button.setAttribute("aria-label", place.dataset.label);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
  });
  place.append(button);
}

function addFilter(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = `filter ${rows.length} rows`;
  input.setAttribute("aria-label", input.placeholder);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
  table.closest(".scroll").before(input);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".tools").forEach(addSwitch);
  document.querySelectorAll("table[data-filter]").forEach(addFilter);
});
