// What an anywidget asks of its model, answered from what Python recorded.
class Recording {
  constructor(values, sent) {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    this.values = values;
    this.listeners = [];
    this.rows = bytes(sent.rows);
    this.colours = bytes(sent.colours);
    this.answer();
  }
  get(name) {
    return this.values[name];
  }
  set(name, value) {
    this.values[name] = value;
    this.tell(`change:${name}`);
  }
  on(events, listener) {
    this.listeners.push([events.split(" "), listener]);
  }
  tell(event) {
    for (const [events, listener] of this.listeners) if (events.includes(event)) listener();
  }
  answer() {
    const { layer, head, heads, patch, rows, columns } = this.values;
    const n = rows * columns, at = ((layer - 1) * heads + head - 1) * n + patch;
    this.values.row = this.rows.subarray(4 * n * at, 4 * n * (at + 1)); // four bytes a weight, four a colour
    this.values.colours = this.colours.subarray(4 * n * at, 4 * n * (at + 1));
    this.values.shown = patch;
  }
  save_changes() {
    this.answer();
    this.tell("change:row");
  }
}

function replay(cell, values, sent) {
  const figure = document.getElementById(cell), how = document.createElement("figcaption");
  how.textContent = "Move over the picture, or focus it and press the arrow keys.";
  figure.replaceChildren();
  explorer.render({ model: new Recording(values, sent), el: figure });
  figure.append(how);
}
