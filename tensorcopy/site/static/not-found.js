/* On 404.html: makes its links absolute. The script lies in the site's root. */
"use strict";

(() => {
  const site = new URL(".", document.currentScript.src), { prefix } = document.querySelector("[data-prefix]").dataset;
  for (const link of document.querySelectorAll("a[href]")) {
    const target = link.getAttribute("href");
    if (target.startsWith(prefix)) link.setAttribute("href", new URL(target.slice(prefix.length), site));
  }
  const page = document.createElement("script"); // of the theme, which every page has
  page.src = new URL("page.js", site);
  if (!document.querySelector(`script[src="${page.src}"]`)) document.head.append(page);
})();
