/* The landing page: a select for the question of an upgrade. The page is complete without it. */
"use strict";

function filled(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => values[name]);
}

/* `upgrades` has a row for each release: slower, faster and cases of copies and of conversions, and a link. */
function addUpgrades(section, { upgrades, texts }) {
  const place = section.querySelector("h2 .before"), counts = section.querySelector(".counts");
  const select = document.createElement("select");
  select.setAttribute("aria-label", texts.upgrade_from);
  select.append(...Object.keys(upgrades).map((release) => new Option(release, release)));
  select.value = place.textContent;
  place.replaceChildren(select);
  select.addEventListener("change", () => {
    const row = upgrades[select.value];
    const kinds = [
      [texts.upgrade_copies, row.slice(0, 3)],
      [texts.upgrade_conversions, row.slice(3, 6)],
    ];
    const sentences = kinds.filter(([, [, , cases]]) => cases).map(([text, [slower, faster, cases]]) => filled(text, { slower, faster, cases }));
    const evidence = document.createElement("a");
    evidence.textContent = texts.evidence;
    evidence.href = row[6];
    counts.replaceChildren(sentences.join(" "), ...(row[6] ? [" ", evidence] : []));
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const data = document.getElementById("upgrades");
  if (data) addUpgrades(document.querySelector(".upgrade"), JSON.parse(data.textContent));
});
