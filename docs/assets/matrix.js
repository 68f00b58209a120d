// The matrix of claims and runs shows the rows with one verdict; without this script it shows all of them.
(() => {
  const matrix = document.querySelector("table.matrix");
  if (!matrix) return;
  const rows = [...matrix.querySelectorAll("tbody tr[id]")];
  const words = row => [...row.querySelectorAll(".verdict")].map(badge => badge.textContent);
  const bar = document.createElement("div");
  bar.className = "filter";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Show the claims with this verdict");
  const show = (chosen, pressed) => {
    for (const row of rows) {
      const found = words(row);
      row.hidden = !(chosen === "all" || (chosen === "runs differ" ? new Set(found).size > 1 : found.includes(chosen)));
    }
    for (const body of matrix.tBodies) body.hidden = ![...body.querySelectorAll("tr[id]")].some(row => !row.hidden);
    for (const button of bar.children) button.setAttribute("aria-pressed", String(button === pressed));
  };
  for (const word of ["all", ...new Set(rows.flatMap(words)), "runs differ"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.addEventListener("click", () => show(word, button));
    bar.append(button);
  }
  (matrix.closest(".data-box, .md-typeset__scrollwrap") || matrix).before(bar);
  show("all", bar.firstElementChild);
})();
