/* Gives the elements of a page what the other parts do. The script is deferred: all elements are there. */
document.querySelectorAll(".tools").forEach(addSwitch);
document.querySelectorAll("[data-copy]").forEach(addCopying);
document.querySelectorAll("table[data-filter]").forEach(addFilter);
document.querySelectorAll("[data-search]").forEach(addCaseFilter);
document.querySelectorAll("table[data-sort]").forEach(addSorting);
document.querySelectorAll("table[data-bars]").forEach(addBars);
document.querySelectorAll(".plot.case, .plot.changes").forEach(addReading);
document.querySelectorAll("form[data-pairs]").forEach(addPairs);
