// Columns of places that can be looked at or accused, suspects below them, and what Python says of the last click.
// A click sends what was pressed; Python answers with everything that is shown, so nothing is computed here.
function render({ model, el }) {
  const make = (name, parent, properties = {}) =>
    parent.appendChild(Object.assign(document.createElement(name), properties));
  const press = (...what) => model.send(what); // a message each: of two quick changes of a trait one would be lost

  const box = make("div", el, { className: "place-board" });
  const said = make("p", box);
  said.setAttribute("aria-live", "polite");
  const line = make("div", box);
  const columns = make("div", box, { className: "columns" });
  const below = make("div", box, { className: "suspects" });

  const suspects = model.get("suspects"), tiles = {}, modes = {};
  let mode = "look"; // what a click on a place does; where there are suspects, it looks
  const choose = (other) => {
    mode = other;
    for (const [name, button] of Object.entries(modes)) button.setAttribute("aria-pressed", name === mode);
  };
  for (const name of suspects.length ? [] : ["look", "accuse"])
    modes[name] = make("button", line, { className: "mode", textContent: name, onclick: () => choose(name) });
  choose(mode);

  const tile = (name, label, parent, what) => {
    const button = make("button", parent, { className: "tile", onclick: () => press(what(), name) });
    make("span", button, { textContent: label });
    make("b", button);
    tiles[name] = button;
  };
  for (const [head, names] of model.get("columns")) {
    const column = make("div", columns);
    make("span", column, { textContent: head });
    for (const name of names) tile(name, name.startsWith(`${head} `) ? name.slice(head.length + 1) : name, column, () => mode);
  }
  if (suspects.length) make("span", below, { textContent: "accuse: " });
  for (const name of suspects) tile(name, name, below, () => "accuse");

  function draw() {
    said.textContent = model.get("said");
    for (const [name, button] of Object.entries(tiles)) {
      const [state, words] = model.get("tiles")[name] || ["", ""];
      [button.style.background, button.style.color] = model.get("colours")[state];
      button.lastChild.textContent = words;
      button.setAttribute("aria-label", `${name} ${words}`.trim());
    }
  }
  model.on("change", draw);
  draw();
}

export default { render };
