// Where a page has a row per run of many, the rows of one device are found by its words, in all of the page's tables at once. Without this script all rows stand there.
(() => {
  "use strict";
  const boxes = [...document.querySelectorAll("article .fleet")];
  if (!boxes.length) return;
  // What has no link is nobody's run (the article's own row) and stays.
  const tables = boxes.map(box => [...box.querySelectorAll("tbody tr")].filter(row => row.querySelector("a")));
  const said = new Map(tables.flat().map(row => [row, row.textContent.toLowerCase()]));
  const column = table => [...table.tHead.rows[0].cells].findIndex(head => head.textContent.trim() === "Workload");
  const workload = row => { const place = column(row.closest("table")); return place < 0 ? "" : row.cells[place].textContent.trim(); };
  const kinds = [...new Set(tables.flat().map(workload))].filter(Boolean);

  const bar = document.createElement("p"), label = document.createElement("label"), input = document.createElement("input"), count = document.createElement("output");
  bar.className = "find-runs";
  input.type = "search";
  input.className = "find";
  input.placeholder = "h100 pcie";
  label.append("Find a device: ", input);
  bar.append(label);
  const choice = document.createElement("select");
  if (kinds.length > 1) {
    const about = document.createElement("label");
    choice.append(new Option("all", ""), ...kinds.map(kind => new Option(kind)));
    about.className = "device-choice";
    about.append("Workload: ", choice);
    bar.append(" ", about);
  }
  bar.append(" ", count);

  const show = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const rows of tables)
      for (const row of rows)
        row.hidden = !(wanted.every(word => said.get(row).includes(word)) && (!choice.value || !workload(row) || workload(row) === choice.value));
    count.textContent = `${tables[0].filter(row => !row.hidden).length} of ${tables[0].length} rows`;
  };
  input.addEventListener("input", show);
  choice.addEventListener("change", show);
  boxes[0].before(bar);
  show();
})();
