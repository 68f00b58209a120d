// What a finding shows on another device, under what it shows here: chosen once and kept from finding to finding while the tab is open.
// Without this script the table of the other devices says the same, a row per run.
(() => {
  "use strict";
  const here = document.querySelector('article small a[href="#other-devices"]'), section = document.getElementById("other-devices");
  const table = section && [...document.querySelectorAll("article table.data")].find(one => section.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  const verdicts = document.querySelector("article ul:has(.verdict)");
  if (!here || !table || !verdicts) return;

  // Which claim a column is about, as its head links to it; the last column is the answer.
  const heads = [...table.tHead.rows[0].cells].map(head => head.querySelector("a"));
  const runs = new Map();
  for (const row of table.tBodies[0].rows) {
    const link = row.cells[0].querySelector("a"), slot = link && /runs\/([^#]+)\/[^/]+$/.exec(link.getAttribute("href"));
    if (slot) runs.set(slot[1], {link, row, name: `${link.textContent.trim()}, ${row.cells[1].textContent.trim()}`});
  }
  const KEY = "finding-on";
  const kept = () => { try { return sessionStorage.getItem(KEY) || ""; } catch { return ""; } };
  const keep = slot => { try { slot ? sessionStorage.setItem(KEY, slot) : sessionStorage.removeItem(KEY); } catch { /* this page alone then */ } };

  const label = document.createElement("label"), select = document.createElement("select"), there = document.createElement("div");
  label.className = "device-choice";
  label.append("Beside it: ", select);
  select.append(new Option("no other device", ""), ...[...runs].map(([slot, run]) => new Option(run.name, slot)));
  there.className = "there";
  there.setAttribute("aria-live", "polite");

  const show = slot => {
    const run = runs.get(slot);
    there.replaceChildren();
    there.hidden = !run;
    if (!run) return;
    const answer = document.createElement("p"), list = document.createElement("p"), name = document.createElement("strong"), more = run.link.cloneNode(true);
    name.textContent = `${run.name}: `;
    answer.append(name, ...[...run.row.cells[run.row.cells.length - 1].childNodes].map(node => node.cloneNode(true)));
    heads.forEach((head, column) => {
      const badge = head && run.row.cells[column].querySelector(".verdict");
      if (!badge) return;
      const one = document.createElement("span"), claim = head.cloneNode(true);
      one.append(badge.cloneNode(true), " ", claim);
      list.append(one, " ");
    });
    more.textContent = "its evidence";
    list.append(more);
    there.append(answer, list);
  };

  here.replaceWith(label);
  verdicts.after(there);
  select.value = runs.has(kept()) ? kept() : "";
  show(select.value);
  select.addEventListener("change", () => {
    keep(select.value);
    show(select.value);
    there.scrollIntoView({block: "nearest"});
  });
})();
