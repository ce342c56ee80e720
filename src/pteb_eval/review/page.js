
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { sample, items } = JSON.parse(byId("data").textContent);
  const KEY = `pteb-eval review ${sample}`;
  // Characters that would show as nothing or turn the text around: shown by their number.
  const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cs}\u200b\u202d\u202e\u2060\ufeff]/gu;
  const scores = [...byId("scale").querySelectorAll("button")];
  let unsaved = false;
  let kept = true;
  let state = restored();

  function restored() {
    // past: [item, its rating before or null], for undo; place: which item is shown.
    const fresh = { rater: "", ratings: {}, past: [], place: 0 };
    try {
      return Object.assign(fresh, JSON.parse(localStorage.getItem(KEY)));
    } catch {
      return fresh;
    }
  }

  function keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify(state));
    } catch {
      kept = false;
      byId("unkept").hidden = false;
    }
  }

  function spell(element, text) {
    const parts = [];
    let end = 0;
    text = text.replace(/\r\n?/g, "\n");
    for (const match of text.matchAll(HIDDEN)) {
      const sign = document.createElement("span");
      sign.className = "sign";
      sign.textContent = "U+" + match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      parts.push(text.slice(end, match.index), sign);
      end = match.index + match[0].length;
    }
    element.replaceChildren(...parts, text.slice(end));
  }

  function show(message, focus = true) {
    const rated = Object.keys(state.ratings).length;
    const item = items[state.place];
    byId("bar").max = items.length;
    byId("bar").value = rated;
    byId("count").textContent = `${rated} of ${items.length} rated`;
    byId("status").textContent = message;
    byId("pair").hidden = !item;
    byId("end").hidden = Boolean(item);
    byId("back").disabled = state.place === 0;
    byId("next").disabled = !item;
    byId("undo").disabled = state.past.length === 0;
    if (item) {
      byId("heading").textContent = `Pair ${state.place + 1} of ${items.length}`;
      spell(byId("first"), item.first);
      spell(byId("second"), item.second);
      for (const button of scores)
        button.setAttribute("aria-pressed", state.ratings[item.id] === Number(button.value));
    } else {
      const left = items.length - rated;
      byId("missing").hidden = left === 0;
      byId("end-heading").textContent = left
        ? `${left} of ${items.length} pairs have no rating yet.`
        : `All ${items.length} pairs are rated. Save the file and hand it in.`;
    }
    if (focus) byId(item ? "heading" : "end-heading").focus();
  }

  function unrated(from) {
    const open = (item, place) => place >= from && !(item.id in state.ratings);
    const place = items.findIndex(open);
    return place < 0 ? items.length : place;
  }

  function change(message) {
    unsaved = true;
    byId("saved").textContent = "";
    keep();
    show(message);
  }

  function rate(score) {
    const item = items[state.place];
    if (!item) return;
    state.past.push([item.id, state.ratings[item.id] ?? null]);
    state.ratings[item.id] = score;
    state.place = unrated(state.place + 1);
    change(`Rated ${score}.`);
  }

  function undo() {
    if (!state.past.length) return;
    const [id, before] = state.past.pop();
    if (before === null) delete state.ratings[id];
    else state.ratings[id] = before;
    state.place = items.findIndex((item) => item.id === id);
    change("Rating taken back.");
  }

  function go(place) {
    if (place < 0 || place > items.length) return;
    state.place = place;
    keep();
    show("");
  }

  function save(kind, type, content) {
    const rater = state.rater.trim();
    if (!rater) {
      byId("saved").textContent = "Fill in your name or initials first.";
      byId("rater").focus();
      return;
    }
    const rows = items
      .filter((item) => item.id in state.ratings)
      .map((item) => ({ item: item.id, rating: state.ratings[item.id] }));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content(rater, rows)], { type }));
    link.download = `ratings-${sample}-${rater.replace(/[^\p{L}\p{N}]+/gu, "-")}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unsaved = false;
    byId("saved").textContent = `${rows.length} of ${items.length} ratings saved as ${link.download}.`;
  }

  const asJson = (rater, ratings) =>
    JSON.stringify({ format: "pteb-eval ratings 1", sample, rater, ratings }, null, 1) + "\n";
  const asCsv = (rater, ratings) => {
    const name = `"${rater.replace(/"/g, '""')}"`;
    const lines = ratings.map(({ item, rating }) => [sample, name, item, rating].join(","));
    return "\ufeff" + ["sample,rater,item,rating", ...lines, ""].join("\r\n");
  };

  for (const button of scores)
    button.addEventListener("click", () => rate(Number(button.value)));
  byId("undo").addEventListener("click", undo);
  byId("back").addEventListener("click", () => go(state.place - 1));
  byId("next").addEventListener("click", () => go(state.place + 1));
  byId("missing").addEventListener("click", () => go(unrated(0)));
  byId("json").addEventListener("click", () => save("json", "application/json", asJson));
  byId("csv").addEventListener("click", () => save("csv", "text/csv", asCsv));
  byId("rater").addEventListener("input", () => {
    state.rater = byId("rater").value;
    keep();
  });
  byId("clear").addEventListener("click", () => {
    if (!confirm("Delete all ratings of this page from this browser?")) return;
    state = { rater: "", ratings: {}, past: [], place: 0 };
    byId("rater").value = "";
    change("All ratings deleted.");
  });
  document.addEventListener("keydown", (event) => {
    // A key held down must not rate pair after pair.
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target === byId("rater") || !byId("keys").checked) return;
    // By place too: on some keyboards the row of digits types other signs, or other digits.
    const digit = /^([0-5])$/.exec(event.key) ?? /^Digit([0-5])$/.exec(event.code);
    if (digit) rate(Number(digit[1]));
    else if (event.key.toLowerCase() === "u" || event.key === "Backspace") undo();
    else if (event.key === "ArrowLeft") go(state.place - 1);
    else if (event.key === "ArrowRight") go(state.place + 1);
    else return;
    event.preventDefault();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    state = restored(); // rated in another tab
    show("", false);
  });
  window.addEventListener("beforeunload", (event) => {
    if (unsaved && !kept) event.preventDefault();
  });

  byId("rater").value = state.rater;
  keep();
  show(Object.keys(state.ratings).length ? "Your progress is back." : "", false);
})();
