/* The switch between light and dark. Pages are complete without any of these scripts; they are joined in the order of assets.py. */
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
