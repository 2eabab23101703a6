/* Adds a switch between light and dark and a filter above long tables; the pages are complete without it. */
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
  document.querySelectorAll("details.menu").forEach(addClosing);
  document.querySelectorAll(".tools").forEach(addSwitch);
  document.querySelectorAll("table[data-filter]").forEach(addFilter);
});
