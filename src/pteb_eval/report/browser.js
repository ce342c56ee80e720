// Single instances: unpacked when somebody comes to them, all texts set as text and never as markup.

(() => {
  const STEP = 20;
  const VALUES = {
    cosine_similarity: "cosine similarity of the two texts",
    correct: "classified right: 1, wrong: 0, or the share of experiments",
    ndcg_at_10: "nDCG@10 of the query",
    average_precision: "average precision of the query",
    reciprocal_rank: "reciprocal rank of the text's own paraphrase",
    spearman: "Spearman's correlation within the text",
  };
  const blocks = [...document.querySelectorAll("#instances .block")];
  const opened = new Set();
  const loaded = new Map();
  let items = [];
  let limit = STEP;

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const deltaOf = ([original, ...runs]) => original - mean(runs);
  const deltas = (item) => {
    const model = byId("model").value;
    const own = (item.values ?? []).map(deltaOf);
    return (model === "" ? own : [own[model]]).filter((value) => typeof value === "number" && !isNaN(value));
  };
  const change = (item) => (deltas(item).length ? mean(deltas(item).map(Math.abs)) : -1);
  const delta = (item) => (deltas(item).length ? mean(deltas(item)) : -Infinity);
  const rating = (item, { texts }) => {
    const scores = item.texts.flatMap(([, place]) => texts[place].runs).map((one) => one.scores?.[0] ?? 9);
    return Math.min(...scores, 9);
  };

  function textPart([role, place], texts) {
    const text = texts[place];
    const part = made("div", "", "part");
    const original = made("p");
    original.append(made("b", `${role}: `), shownText(text.text));
    if (text.length) original.append(made("span", ` … ${text.length} characters in all`, "soft"));
    part.append(original);
    if (!text.runs.length) return part;
    const list = made("ol");
    for (const one of text.runs) {
      const row = made("li");
      row.value = one.run;
      const badge = (words, kind = "") => row.append(" ", made("span", words, `badge ${kind}`));
      if (one.text) row.append(reworded(text.text, one));
      if (one.status !== "ok") badge(one.status.replaceAll("_", " "), "bad");
      if (one.copy) badge("copy");
      one.scores?.forEach((score, judge) => {
        const name = about.judges.length > 1 ? `${about.judges[judge]}: ` : "judge: ";
        badge(name + (score === null ? "no rating" : `${score} of 5`));
      });
      list.append(row);
    }
    part.append(list);
    return part;
  }

  function valuesPart(item, { value }) {
    const box = made("div", "", "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Values of each model");
    const table = made("table");
    const n = item.values[0].length - 1;
    const titles = ["model", "original", "mean of runs", "Δ", ...Array.from({ length: n }, (_, run) => `run ${run + 1}`)];
    table.createCaption().textContent =
      (VALUES[value] ?? value.replaceAll("_", " ")) + (item.gold === null ? "" : `; gold: ${item.gold}`);
    const head = table.createTHead().insertRow();
    titles.forEach((title, place) => {
      const cell = made("th", title, place ? "n" : "");
      cell.scope = "col";
      head.append(cell);
    });
    const body = table.createTBody();
    const number = (one) => (one === null ? "none" : one.toFixed(2).replace("-", "−"));
    item.values.forEach((values, model) => {
      const row = body.insertRow();
      const [original, ...runs] = values;
      const known = values.every((one) => one !== null);
      row.insertCell().textContent = about.models[model];
      const rest = [number(original), known ? number(mean(runs)) : "none", known ? signed(deltaOf(values), 2) : "none"];
      for (const text of [...rest, ...runs.map(number)]) {
        const cell = row.insertCell();
        cell.className = "n";
        cell.textContent = text;
      }
    });
    box.append(table);
    return box;
  }

  function shownItem(item, data) {
    const details = made("details", "", "instance");
    const summary = made("summary");
    const [subset, split, row] = item.key;
    const where = [subset === "default" ? "" : subset, split, row].filter(Boolean).join(" / ");
    const first = item.texts.length ? data.texts[item.texts[0][1]].text : "";
    // The figure that the list is sorted by.
    const size = byId("order").value === "change" ? `|Δ| ${change(item).toFixed(2)}` : `Δ ${signed(delta(item), 2)}`;
    const moved = deltas(item).length ? size : "no value";
    const start = made("bdi", "", "start");
    start.dir = "auto";
    summary.append(made("span", moved, "moved"), spelled(start, first.slice(0, 160)), made("span", where, "soft where"));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      details.append(...item.texts.map((text) => textPart(text, data.texts)));
      if (item.why.includes("left out")) {
        details.append(made("p", "Left out of all scores: a paraphrase of one of its texts failed.", "soft"));
      }
      if (item.values) details.append(valuesPart(item, data));
    });
    return details;
  }

  function ordered(data) {
    const order = byId("order").value;
    const wanted = order === "sample" || order === "left out" ? order : "";
    const words = byId("search").value.toLowerCase();
    const fits = (item) =>
      (wanted ? item.why.includes(wanted) : item.values || !data.value) &&
      (!words || item.texts.some(([, place]) => {
        const { text, runs } = data.texts[place];
        return [text, ...runs.map((one) => one.text)].some((one) => one.toLowerCase().includes(words));
      }));
    const key = { change: (item) => -change(item), drop: (item) => -delta(item), judge: (item) => rating(item, data) }[order];
    const found = data.items.filter(fits);
    return key ? found.map((item) => [key(item), item]).sort((a, b) => a[0] - b[0]).map(([, item]) => item) : found;
  }

  function list(data) {
    byId("list").replaceChildren(...items.slice(0, limit).map((item) => shownItem(item, data)));
    byId("more").hidden = items.length <= limit;
  }

  async function update() {
    const block = blocks[byId("block").value];
    const guarded = "offensive" in block.dataset && !opened.has(block);
    byId("warned").hidden = !guarded;
    limit = STEP;
    if (guarded) {
      byId("list").replaceChildren();
      byId("more").hidden = true;
      byId("shown").textContent = "";
      return;
    }
    if (!loaded.has(block)) loaded.set(block, await unpacked(block.querySelector("script")));
    const data = loaded.get(block);
    items = ordered(data);
    const whose = byId("model").value === "" ? ", mean over the models" : "";
    const sorted = {
      change: ` Sorted by |Δ| = |original − mean of runs|${whose}.`,
      drop: ` Sorted by Δ = original − mean of runs${whose}.`,
    };
    byId("shown").textContent =
      `${items.length} here; the page has ${block.dataset.shown} of the ${block.dataset.total} instances of this task.` +
      (data.value ? sorted[byId("order").value] ?? "" : " This metric has no values of single instances.");
    list(data);
  }

  for (const id of ["block", "model", "order"]) byId(id).addEventListener("change", update);
  byId("search").addEventListener("input", update);
  byId("open").addEventListener("click", () => {
    opened.add(blocks[byId("block").value]);
    update();
  });
  byId("more").addEventListener("click", () => {
    const place = limit;
    limit += STEP;
    list(loaded.get(blocks[byId("block").value]));
    byId("list").children[place].querySelector("summary").focus();
  });
  // Only when a reader comes near: most never do.
  new IntersectionObserver((entries, watcher) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    update();
  }, { rootMargin: "600px" }).observe(byId("instances"));
})();
