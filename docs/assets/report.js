// What a page gets where scripts run; without them it says the same. No library, nothing fetched.
(() => {
  "use strict";
  const UNITS = {ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
                 "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "GFLOP/s": 1e9, "TFLOP/s": 1e12};
  const NOTHING = new Set(["", "—", "-"]);

  // The first number of a cell, in the unit that all cells share; NaN where it begins with none.
  const number = text => {
    const found = /^([+−-]?)([\d,]*\.?\d+)\s*([A-Za-zµ]+(?:\/s)?)?/.exec(text);
    return found ? (found[1] && found[1] !== "+" ? -1 : 1) * parseFloat(found[2].replace(/,/g, "")) * (UNITS[found[3]] || 1) : NaN;
  };
  const said = (row, column) => (row.cells[column] ? row.cells[column].textContent : "").trim();

  const sort = (table, head, column) => {
    const body = table.tBodies[0], rows = [...body.rows], up = head.getAttribute("aria-sort") !== "ascending";
    // A column is one of numbers where most cells are: what says "recorded before" in it goes to the end, as a dash does.
    const some = rows.filter(row => !NOTHING.has(said(row, column))), numbers = some.filter(row => !Number.isNaN(number(said(row, column))));
    const numeric = numbers.length * 2 > some.length, filled = numeric ? numbers : some, empty = rows.filter(row => !filled.includes(row));
    const compare = numeric ? (a, b) => number(said(a, column)) - number(said(b, column)) : (a, b) => said(a, column).localeCompare(said(b, column));
    filled.sort((a, b) => (up ? 1 : -1) * compare(a, b));
    body.append(...filled, ...empty);
    [...table.tHead.rows[0].cells].forEach(one => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    let above = "";
    [...body.rows].forEach(row => { row.cells[0].classList.toggle("again", said(row, 0) !== "" && said(row, 0) === above); above = said(row, 0); });
  };

  const sortable = table => {
    if (!table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 3 || table.closest(".claims")) return;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button"), link = head.querySelector("a");
      button.type = "button";
      if (link || !head.textContent.trim()) {
        button.className = "sign";
        button.setAttribute("aria-label", `Sort by ${head.textContent.trim() || "this column"}`);
      } else {
        button.append(...head.childNodes);
      }
      head.append(button);
      button.addEventListener("click", () => sort(table, head, column));
    });
  };

  // A box that scrolls is reached by the keyboard and has a name; one that does not is nothing to stop at.
  const reachable = box => {
    const name = box.dataset.name || box.getAttribute("aria-label"), scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    box.dataset.name = name;
    if (scrolls) Object.entries({role: "region", tabindex: "0", "aria-label": name}).forEach(([key, value]) => box.setAttribute(key, value));
    else ["role", "tabindex", "aria-label"].forEach(key => box.removeAttribute(key));
  };

  // Paper is light: whoever reads in the dark scheme prints in the light one.
  const onPaper = () => {
    const key = "data-md-color-scheme", chosen = document.body.getAttribute(key);
    if (!chosen || chosen === "default") return;
    document.body.setAttribute(key, "default");
    addEventListener("afterprint", () => document.body.setAttribute(key, chosen), {once: true});
  };

  const start = () => {
    addEventListener("beforeprint", onPaper);
    document.querySelectorAll("table.data").forEach(sortable);
    const watch = new ResizeObserver(seen => seen.forEach(one => reachable(one.target)));
    document.querySelectorAll(".data-box").forEach(box => watch.observe(box));
    // The theme puts the button of each code block into a landmark without a name.
    const quiet = () => document.querySelectorAll(".md-code__nav:not([role])").forEach(one => one.setAttribute("role", "none"));
    new MutationObserver(quiet).observe(document.body, {childList: true, subtree: true});
    quiet();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
