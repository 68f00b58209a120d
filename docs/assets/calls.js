// The calls that were asked about, found by their words, and the seconds that new lengths cost a histogram of your own. Without this script all calls
// stand there, and a table gives the seconds of one example.
(() => {
  const calls = [...document.querySelectorAll("details.asked")];
  if (calls.length) {
    const box = document.createElement("label");
    box.textContent = "Find a call: ";
    const input = document.createElement("input");
    input.type = "search";
    input.className = "find";
    input.placeholder = "mask fp32 gradients";
    const count = document.createElement("output");
    box.append(input);
    const show = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const call of calls) {
        call.hidden = !wanted.every(word => call.textContent.toLowerCase().includes(word));
        left += !call.hidden;
      }
      count.textContent = wanted.length ? ` ${left} of ${calls.length}` : "";
    };
    input.addEventListener("input", show);
    const line = document.createElement("p");
    line.append(box, count);
    calls[0].before(line);
  }

  const place = document.querySelector(".bill-calculator[data-bill]");
  if (!place) return;
  const bill = JSON.parse(place.dataset.bill);
  const later = (row, length) => {
    const all = row.lengths.map((at, index) => [at, row.later[index]]);
    const alike = all.filter(([at]) => (at % bill.aligned === 0) === (length % bill.aligned === 0));
    const known = (alike.length > 2 ? alike : all).sort((a, b) => a[0] - b[0]);
    const above = known.findIndex(([at]) => at >= length);
    if (above === 0) return known[0][1];
    if (above < 0) {
      const [longest, seconds] = known[known.length - 1];
      return seconds * (length / longest) ** 2;
    }
    const [[low, below], [high, top]] = [known[above - 1], known[above]];
    return below + (top - below) * (length - low) / (high - low);
  };
  const seconds = (row, histogram, bucket) => {
    const rounded = new Map();
    for (const [length, times] of histogram) {
      const to = Math.ceil(length / bucket) * bucket;
      rounded.set(to, (rounded.get(to) || 0) + times);
    }
    let total = 0, before = 0;
    for (const [length, times] of rounded) {
      total += times * later(row, length) + row.new[Math.min(before, row.new.length - 1)];
      before += 1;
    }
    return total;
  };
  const shown = value => value >= 1 ? `${value.toPrecision(3)} s` : value >= 1e-3 ? `${(value * 1e3).toPrecision(3)} ms` : `${(value * 1e6).toPrecision(3)} µs`;
  const form = document.createElement("form");
  form.innerHTML = "<p><label>Your lengths, one <code>length × times</code> a line:<br><textarea rows='5' cols='24'>512 × 100\n640 × 100\n701 × 3</textarea></label></p>"
    + "<p><label>Called with: <select></select></label></p><p role='status'></p>";
  const [text, choice, said] = [form.querySelector("textarea"), form.querySelector("select"), form.querySelector("[role=status]")];
  for (const row of bill.rows) choice.append(new Option(row.name));
  const work = () => {
    const histogram = new Map();
    for (const line of text.value.split("\n")) {
      const [length, times] = (line.match(/\d+/g) || []).map(Number);
      if (length > 0) histogram.set(length, (histogram.get(length) || 0) + (times || 1));
    }
    const row = bill.rows[choice.selectedIndex];
    if (!row || !histogram.size) {
      said.textContent = "Give at least one length.";
      return;
    }
    const known = bill.buckets.map(bucket => [seconds(row, histogram, bucket), bucket]);
    const [best, bucket] = known.reduce((a, b) => b[0] < a[0] ? b : a);
    const calls = [...histogram].reduce((sum, [length, times]) => sum + times * later(row, length), 0);
    said.textContent = `As they are: ${shown(known[0][0])}, of which new lengths cost ${shown(known[0][0] - calls)}. `
      + (bucket === 1 ? "Rounding up gains nothing." : `Rounded up to multiples of ${bucket}: ${shown(best)}.`);
  };
  form.addEventListener("input", work);
  form.addEventListener("submit", event => event.preventDefault());
  place.append(form);
  work();
})();
