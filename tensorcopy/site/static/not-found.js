/* On 404.html: makes its links absolute, and offers the comparison that an old address named. The script lies in the site's root. */
"use strict";

(() => {
  const site = new URL(".", document.currentScript.src);
  const [, machine, environment, from, to] =
    location.pathname.slice(site.pathname.length).match(/^compare\/([^/]+)\/([^/]+)\/([^/]+?)\.\.([^/]+)\.(?:html|csv)$/) ?? [];
  document.querySelectorAll("[data-page]").forEach((link) => link.setAttribute("href", new URL(link.dataset.page, site)));
  if (!to) return;
  const sides = { from, to, on: `${machine}/${environment}` };
  for (const [name, text] of Object.entries(sides)) document.getElementById(name).textContent = decodeURIComponent(text);
  const fragment = Object.entries(sides).map(([name, text]) => `${name}=${text}`).join("&");
  document.getElementById("compare").setAttribute("href", new URL(`compare/index.html#${fragment}`, site));
  document.getElementById("compared").hidden = false;
})();
