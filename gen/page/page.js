"use strict";
// Navigation: a long list of parts closes when one of them was chosen.
document.querySelector("nav details")?.addEventListener("click", ({ target, currentTarget }) => {
  if (target.closest("a")) currentTarget.open = false;
});
// Tables: a click on a heading sorts by it, the box above leaves rows that hold every word.
(() => {
  const keyOf = (cell) => {
    const text = (cell.dataset.key ?? cell.textContent).trim();
    const number = text === "" ? NaN : Number(text.replace(/,/g, "").replace(/%$/, ""));
    return Number.isNaN(number) ? text : number;
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };
  const sortBy = (table, heading) => {
    const column = heading.cellIndex;
    const up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
    rows.sort((a, b) => (up ? 1 : -1) * order(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  };
  const addFilter = (table) => {
    const box = document.createElement("input");
    box.type = "search";
    box.className = "filter";
    box.placeholder = "filter " + table.dataset.filter;
    box.setAttribute("aria-label", box.placeholder);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    (table.closest(".wide") ?? table).before(box);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.querySelectorAll("th")) {
      heading.tabIndex = 0;
      heading.addEventListener("click", () => sortBy(table, heading));
      heading.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          sortBy(table, heading);
        }
      });
    }
    if (table.dataset.filter) addFilter(table);
  }
})();
