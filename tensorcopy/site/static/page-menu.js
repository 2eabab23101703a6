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
