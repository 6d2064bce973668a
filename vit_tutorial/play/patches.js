// A picture whose patches can be clicked, choices beside it, bars that follow, and what Python says of the state.
// A click sends what was pressed; Python answers with everything that is shown, so nothing is computed here.
function render({ model, el }) {
  const make = (name, parent, properties = {}) =>
    parent.appendChild(Object.assign(document.createElement(name), properties));
  const press = (...what) => model.send(what); // a message each: of two quick changes of a trait one would be lost

  const box = make("div", el, { className: "patch-board" });
  const choices = make("div", box);
  const both = make("div", box, { className: "both" });
  const square = make("div", both, { className: "square" });
  const picture = make("img", square);
  const grid = make("div", square, { className: "grid" });
  const side = make("div", both, { className: "side" });
  const said = make("p", side);
  said.setAttribute("aria-live", "polite");
  const bars = make("div", side);
  const actions = make("div", side);
  const table = make("pre", side);

  let patches = [], laid = "";
  function lay() { // a board may be cut finer
    const rows = model.get("rows"), columns = model.get("columns"), part = model.get("part");
    if (laid === `${rows} × ${columns}`) return;
    laid = `${rows} × ${columns}`;
    const width = model.get("pixels") || (columns > 21 ? 16 * columns : Math.min(42 * columns, 588));
    Object.assign(square.style, { width: `${width}px`, aspectRatio: `${columns} / ${rows}` });
    grid.style.gridTemplate = `repeat(${rows}, minmax(0, 1fr)) / repeat(${columns}, minmax(0, 1fr))`;
    grid.replaceChildren();
    patches = Array.from({ length: rows * columns }, (_, n) => {
      const patch = make("button", grid, { title: `${part} ${n}`, onclick: () => press("patch", n) });
      patch.onpointerenter = (event) => event.buttons && model.get("drags") && press("patch", n);
      patch.setAttribute("aria-label", `${part} ${n}, row ${Math.floor(n / columns) + 1}, column ${(n % columns) + 1}`);
      return patch;
    });
  }
  const buttons = {};
  for (const [name, values] of Object.entries(model.get("choices"))) {
    const line = make("div", choices, { className: "line", textContent: `${name} ` });
    buttons[name] = values.map((value) =>
      make("button", line, { textContent: value, onclick: () => press("choose", name, value) }));
  }
  for (const name of model.get("actions")) make("button", actions, { textContent: name, onclick: () => press("do", name) });

  function draw() {
    lay();
    picture.src = model.get("picture");
    picture.alt = said.textContent = model.get("said");
    const chosen = new Set(model.get("chosen")), picked = model.get("picked");
    patches.forEach((patch, n) => patch.setAttribute("aria-pressed", chosen.has(n)));
    for (const [name, line] of Object.entries(buttons))
      for (const button of line) button.setAttribute("aria-pressed", button.textContent === String(picked[name]));
    bars.replaceChildren();
    for (const [label, share, words] of model.get("bars")) {
      const bar = make("div", bars, { className: "bar" });
      make("span", bar, { textContent: label });
      make("div", make("div", bar, { className: "rail" }), { className: "fill" }).style.width = `${100 * share}%`;
      make("span", bar, { textContent: words });
    }
    table.textContent = model.get("table");
  }
  model.on("change", draw);
  draw();
}

export default { render };
