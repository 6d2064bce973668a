// The explorer's face: a picture under its patch grid. Hover or press an arrow key to choose the query patch,
// move the slider to choose a head. Python sends the row of attention and its colours; nothing leaves this page.
function render({ model, el }) {
  const rows = model.get("rows"), columns = model.get("columns");
  const tag = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
  const box = tag("div", el, { className: "attention-explorer" });
  const canvas = tag("canvas", box, { tabIndex: 0, width: model.get("width"), height: model.get("height") });
  canvas.setAttribute("role", "application");
  const heat = Object.assign(document.createElement("canvas"), { width: columns, height: rows }); // a pixel a patch
  const says = tag("p", box, {});
  says.setAttribute("aria-live", "polite");
  const picture = new Image();
  picture.onload = draw;
  picture.src = model.get("picture");

  const heads = model.get("heads"), label = tag("label", box, { textContent: "head " });
  const slider = tag("input", label, { type: "range", min: 1, max: heads, value: model.get("head"), name: "head" });
  const number = tag("output", label, { value: `${slider.value} of ${heads}` });
  slider.disabled = heads === 1;
  slider.addEventListener("input", () => set("head", Number(slider.value)));
  model.on("change:head", () => {
    slider.value = model.get("head");
    number.value = `${slider.value} of ${heads}`;
  });

  function set(name, value) {
    if (model.get(name) === value) return;
    model.set(name, value);
    model.save_changes();
  }

  canvas.addEventListener("mousemove", (event) => {
    const area = canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - area.left) / area.width) * columns);
    const y = Math.floor(((event.clientY - area.top) / area.height) * rows);
    if (x >= 0 && x < columns && y >= 0 && y < rows) set("patch", y * columns + x);
  });

  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation(); // or JupyterLab would move to another cell
    const patch = model.get("patch");
    const y = Math.min(rows - 1, Math.max(0, Math.floor(patch / columns) + step[0]));
    const x = Math.min(columns - 1, Math.max(0, (patch % columns) + step[1]));
    set("patch", y * columns + x);
  });

  function draw() {
    const brush = canvas.getContext("2d"), w = canvas.width / columns, h = canvas.height / rows;
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const sent = model.get("row");
    const row = new Float32Array(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
    const best = row.reduce((a, weight, n) => (weight > row[a] ? n : a), 0);
    const colours = model.get("colours");
    const bytes = new Uint8ClampedArray(colours.buffer, colours.byteOffset, colours.byteLength);
    heat.getContext("2d").putImageData(new ImageData(bytes.slice(), columns, rows), 0, 0);
    brush.imageSmoothingEnabled = false; // a patch is one square of one colour
    brush.drawImage(heat, 0, 0, canvas.width, canvas.height);
    if (columns <= 32) {
      brush.strokeStyle = "rgba(255, 255, 255, 0.25)";
      for (let n = 1; n < columns; n++) brush.strokeRect(n * w, -1, 0, canvas.height + 2);
      for (let n = 1; n < rows; n++) brush.strokeRect(-1, n * h, canvas.width + 2, 0);
    }
    const patch = model.get("shown"), y = Math.floor(patch / columns), x = patch % columns;
    brush.strokeStyle = "#00e5ff";
    brush.lineWidth = 3;
    brush.strokeRect(x * w, y * h, w, h);
    brush.lineWidth = 1;
    says.textContent =
      `The patch in row ${y}, column ${x} looks most at row ${Math.floor(best / columns)}, ` +
      `column ${best % columns}: ${(100 * row[best]).toFixed(1)} % of its attention.`;
    canvas.setAttribute("aria-label", `${model.get("title")}. ${says.textContent} Arrow keys choose another patch.`);
  }
  model.on("change:row change:shown", draw);
}

export default { render };
