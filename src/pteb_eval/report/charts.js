// Charts: drawn by Vega-Lite as SVG, its expressions interpreted, since the page's policy allows no eval.

(async () => {
  const LOOK = {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "var(--ink)",
      titleColor: "var(--soft)",
      titleFontWeight: 500,
      gridColor: "var(--line)",
      domainColor: "var(--soft)",
      tickColor: "var(--soft)",
      labelFontSize: 12,
      titleFontSize: 12,
    },
    legend: { labelColor: "var(--ink)", labelFontSize: 12 },
  };
  const options = {
    actions: false,
    ast: true,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true, formatTooltip: described },
    config: LOOK,
  };

  function described(value, sanitize) {
    const lines = Object.entries(value).filter(([, one]) => one !== "NaN" && one !== "null");
    return lines.map(([name, one]) => `<b>${sanitize(name)}</b> ${sanitize(one)}`).join("<br>");
  }

  async function draw(plot, { spec, groups }, place) {
    const rows = groups[place].rows;
    const step = spec.usermeta?.step;
    const height = step ? step * new Set(rows.map((row) => row.model)).size : spec.height;
    await vegaEmbed(plot, { ...spec, height, datasets: { rows } }, options);
  }

  const found = await unpacked(byId("data-charts"));
  for (const figure of document.querySelectorAll("figure.chart")) {
    const chart = found[figure.dataset.chart];
    const plot = figure.querySelector(".plot");
    const choice = figure.querySelector("select");
    choice?.addEventListener("change", () => draw(plot, chart, choice.value));
    await draw(plot, chart, 0);
    await new Promise((next) => setTimeout(next)); // lets a reader scroll meanwhile
  }
  document.documentElement.dataset.drawn = "";
})();
