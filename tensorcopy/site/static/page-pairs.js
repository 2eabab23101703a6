/* Choose a pair: it opens its page, or the explorer with both releases marked. The fragment is #from=A&to=B&on=MACHINE/ENVIRONMENT. */

function addPairs(form) {
  const { on, from, to } = form.elements, here = on.value, note = form.querySelector("[role=status]");
  const target = () => {
    const { folder, python } = on.selectedOptions[0].dataset;
    const releases = [...from.options].map((option) => option.value);
    const [before, after] = [from.value, to.value].sort((a, b) => releases.indexOf(a) - releases.indexOf(b));
    const page = `${folder}${before}..${after}.html`;
    const permanent = [...document.querySelectorAll(".pairs a")].some((link) => link.getAttribute("href") === page);
    return { before, after, permanent, address: permanent ? page : `${form.dataset.explorer}#base=${before}&with=${after}&python=${python}` };
  };
  const show = () => {
    const { before, after, permanent } = target();
    form.querySelector("button").disabled = before === after;
    if (before === after) note.textContent = "Choose two different releases.";
    else if (permanent) note.textContent = `Opens the comparison of all cases, ${before} → ${after}, with verdicts.`;
    else note.textContent = `${before} → ${after} has no page of its own: opens the explorer with both releases marked.`;
  };
  const elsewhere = (wanted) => {
    const { page } = on.selectedOptions[0].dataset, releases = ["from", "to"].filter((name) => wanted[name]).map((name) => `${name}=${wanted[name]}&`);
    const address = page && `${page}#${releases.join("")}on=${on.value}`;
    if (page) on.value = here; // for the way back
    return address;
  };
  const fill = (wanted) => {
    const { releases } = on.selectedOptions[0].dataset;
    const names = releases.split(" ");
    for (const [select, value] of [[from, names[Math.max(0, names.length - 2)]], [to, names[names.length - 1]]]) {
      select.replaceChildren(...names.map((name) => new Option(name, name)));
      select.value = names.includes(wanted[select.name]) ? wanted[select.name] : value;
    }
    return show();
  };
  const read = () => {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if ([...on.options].some((option) => option.value === wanted.on)) on.value = wanted.on;
    const address = elsewhere(wanted);
    if (address) return location.replace(address);
    fill(wanted);
  };
  form.addEventListener("change", (event) => {
    const address = elsewhere({ from: from.value, to: to.value });
    if (address) return location.assign(address);
    if (event.target === on) fill({ from: from.value, to: to.value });
    else show();
    history.replaceState(null, "", `#from=${from.value}&to=${to.value}&on=${on.value}`);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(target().address);
  });
  addEventListener("hashchange", read);
  read();
  form.hidden = false;
}
