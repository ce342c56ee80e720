// Tables: sorting by their titles, filtering, and those that are built when they are opened.

function sortable(table) {
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, place) => {
    const button = made("button", title.textContent);
    button.type = "button";
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = title.getAttribute("aria-sort") === "ascending";
      titles.forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, place, down ? -1 : 1);
    });
  });
}

function sort(table, place, direction) {
  const words = new Intl.Collator("en", { numeric: true });
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const text = row.cells[place].textContent.trim();
    // "+4.2 to +5.1" and "67.0 ± 2.8" go by their first number, "< 0.001" before 0.001.
    const number = parseFloat(text.replace(/^< /, "-").replace("−", "-"));
    return { row, text, number: text.startsWith("< ") ? number / 1e6 : number };
  });
  const numeric = table.tHead.rows[0].cells[place].classList.contains("n");
  keyed.sort((a, b) => {
    if (!numeric) return direction * words.compare(a.text, b.text);
    if (isNaN(a.number) || isNaN(b.number)) return isNaN(a.number) - isNaN(b.number); // none last
    return direction * (a.number - b.number);
  });
  table.tBodies[0].append(...keyed.map((one) => one.row));
}

document.querySelectorAll("table.sortable").forEach(sortable);

(() => {
  const rows = [...byId("results").tBodies[0].rows];
  const update = () => {
    const words = byId("find").value.toLowerCase().split(/\s+/);
    const verdict = byId("verdict").value;
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      row.hidden = !fits || (verdict !== "" && row.cells[row.cells.length - 1].textContent !== verdict);
      left += !row.hidden;
    }
    byId("count").textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
  };
  byId("find").addEventListener("input", update);
  byId("verdict").addEventListener("change", update);
  update();
})();

(() => {
  const MOST_ROWS = 2000; // more would make the page slow

  function build({ columns, numeric, rows }, title) {
    const table = made("table", "", "sortable");
    const head = table.createTHead().insertRow();
    columns.forEach((name, place) => {
      const cell = made("th", name, numeric[place] ? "n" : "");
      cell.scope = "col";
      head.append(cell);
    });
    const body = table.createTBody();
    for (const values of rows.slice(0, MOST_ROWS)) {
      const row = body.insertRow();
      values.forEach((value, place) => {
        const cell = row.insertCell();
        if (numeric[place]) cell.className = "n";
        cell.append(made("bdi", value));
      });
    }
    sortable(table);
    const box = made("div", "", "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", title);
    box.append(table);
    return box;
  }

  for (const details of document.querySelectorAll("details.table")) {
    details.addEventListener("toggle", async () => {
      const pack = details.querySelector("script");
      if (!pack || !details.open) return;
      pack.remove();
      const data = await unpacked(pack);
      const parts = [build(data, details.dataset.title)];
      if (data.rows.length > MOST_ROWS) {
        parts.push(made("p", `The first ${MOST_ROWS} of ${data.rows.length} rows; the CSV file has all.`, "soft"));
      }
      details.querySelector("summary").after(...parts);
    });
  }
})();
