/* On 404.html: makes its links absolute, and offers the comparison that an old address named. The script lies in the site's root. */
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

  const [, machine, environment, from, to] =
    location.pathname.slice(site.pathname.length).match(/^compare\/([^/]+)\/([^/]+)\/([^/]+?)\.\.([^/]+)\.(?:html|csv)$/) ?? [];
  if (!to) return;
  const sides = { from, to, on: `${machine}/${environment}` };
  for (const [name, text] of Object.entries(sides)) for (const place of document.getElementsByClassName(name)) place.textContent = decodeURIComponent(text);
  const fragment = Object.entries(sides).map(([name, text]) => `${name}=${text}`).join("&");
  for (const sentence of document.getElementsByClassName("compared")) {
    sentence.querySelector("a").setAttribute("href", new URL(`compare/index.html#${fragment}`, site));
    sentence.hidden = false;
  }
})();
