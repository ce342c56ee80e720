"use strict";
// What all parts use: packed data, the theme, and the heat map with its tip.

const byId = (id) => document.getElementById(id);
const about = JSON.parse(byId("about").textContent);

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function made(tag, text = "", className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

const signed = (value, digits) => {
  const shown = Math.abs(value).toFixed(digits);
  return (Number(shown) === 0 ? "" : value < 0 ? "−" : "+") + shown;
};

(() => {
  const KEY = "pteb-eval report theme";
  const choice = byId("theme");
  const remembered = (act) => {
    try {
      return act(localStorage);
    } catch {
      return null; // a browser may keep nothing for files
    }
  };
  const apply = () => (document.documentElement.dataset.theme = choice.value);
  choice.value = remembered((store) => store.getItem(KEY)) ?? "";
  choice.addEventListener("change", () => {
    apply();
    remembered((store) => store.setItem(KEY, choice.value));
  });
  apply();
})();

(() => {
  const tip = byId("tip");
  const show = (cell) => {
    tip.textContent = cell.getAttribute("aria-label");
    tip.hidden = false;
    const place = cell.getBoundingClientRect();
    const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${window.scrollX + Math.max(8, left)}px`;
    tip.style.top = `${window.scrollY + place.bottom + 6}px`;
  };
  const hide = () => (tip.hidden = true);
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  for (const table of document.querySelectorAll("table.heat")) {
    const cellAt = (row, column) => table.tBodies[0].rows[row]?.cells[column]?.firstElementChild;
    table.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const step = moves[event.key];
      const cell = event.target.closest("td");
      if (!step || !cell) return;
      event.preventDefault();
      const next = cellAt(cell.parentElement.sectionRowIndex + step[0], cell.cellIndex + step[1]);
      if (next?.tagName !== "BUTTON") return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    for (const cell of table.querySelectorAll("button")) {
      for (const event of ["mouseenter", "focus", "click"]) {
        cell.addEventListener(event, () => show(cell));
      }
      for (const event of ["mouseleave", "blur"]) cell.addEventListener(event, hide);
    }
  }
})();
