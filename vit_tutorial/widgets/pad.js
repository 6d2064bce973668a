// The pad's face: draw with mouse, finger or keys. Each drawing goes to Python; what comes back is the digit as the
// model gets it, what the model looks at, and its ten probabilities. Nothing leaves this page.
function render({ model, el }) {
  const side = model.get("side"), zoom = 2.5, wide = 9; // the pen, in pixels of the drawing
  const tag = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
  const style = (element, rules) => (Object.assign(element.style, rules), element);
  const box = style(tag("div", el, { className: "digit-pad" }), { display: "flex", flexWrap: "wrap", gap: "1.5em" });
  const left = style(tag("div", box, {}), { position: "relative" });
  const canvas = tag("canvas", left, { tabIndex: 0, width: side, height: side });
  style(canvas, { width: `${side * zoom}px`, height: `${side * zoom}px`, touchAction: "none", cursor: "crosshair" });
  canvas.setAttribute("role", "application");
  const help = "Arrow keys move the pen, space lowers and lifts it, Delete clears.";
  canvas.setAttribute("aria-label", `A pad to draw a digit on. ${help}`);
  const pen = style(tag("div", left, {}), {
    position: "absolute", border: "2px solid #00e5ff", borderRadius: "50%", pointerEvents: "none", display: "none",
    width: `${wide * zoom}px`, height: `${wide * zoom}px`, transform: "translate(-50%, -50%)", boxSizing: "border-box",
  });
  const clear = style(tag("button", left, { textContent: "Clear" }), { display: "block", marginTop: "0.5em" });
  const middle = tag("div", box, {});
  const seen = style(tag("canvas", middle, { width: 28, height: 28 }), { width: "196px", imageRendering: "pixelated" });
  seen.setAttribute("role", "img");
  seen.setAttribute("aria-label", "The drawing as the model gets it, 28 by 28 pixels, and over it what it looks at.");
  const bars = tag("div", box, {});
  const rows = Array.from({ length: 10 }, (_, n) => {
    const row = style(tag("div", bars, {}), { display: "flex", alignItems: "center", height: "22px" });
    style(tag("span", row, { textContent: n }), { width: "1.5em" });
    const bar = style(tag("div", style(tag("div", row, {}), { width: "160px" }), {}), { height: "14px" });
    return { bar, number: style(tag("span", row, {}), { marginLeft: "0.5em" }) };
  });
  const says = style(tag("p", el, {}), { margin: "0.5em 0" });
  says.setAttribute("aria-live", "polite");
  style(tag("p", el, { textContent: help }), { margin: 0, opacity: 0.7 });

  const brush = canvas.getContext("2d", { willReadFrequently: true });
  let fresh = true, at = null, down = false, waiting = false, late = false; // fresh: the example is still there

  function paint(grey) {
    const picture = brush.createImageData(side, side);
    for (let n = 0; n < side * side; n++) picture.data.set([grey[n], grey[n], grey[n], 255], 4 * n);
    brush.putImageData(picture, 0, 0);
  }

  function wipe() {
    fresh = false;
    brush.fillStyle = "black";
    brush.fillRect(0, 0, side, side);
  }

  function line(to) {
    if (fresh) wipe();
    Object.assign(brush, { strokeStyle: "white", lineWidth: wide, lineCap: "round", lineJoin: "round" });
    brush.beginPath();
    brush.moveTo(at.x, at.y);
    brush.lineTo(to.x + 0.01, to.y); // a line of no length would not be drawn
    brush.stroke();
    at = to;
    send();
  }

  function send() {
    late = waiting; // one drawing at a time: Python is asked again when it has answered
    if (waiting) return;
    waiting = true;
    const pixels = brush.getImageData(0, 0, side, side).data;
    const grey = Uint8Array.from({ length: side * side }, (_, n) => pixels[4 * n]);
    model.set("drawing", new DataView(grey.buffer));
    model.set("asked", model.get("asked") + 1);
    model.save_changes();
  }

  const place = (event) => {
    const area = canvas.getBoundingClientRect();
    return { x: ((event.clientX - area.left) / area.width) * side, y: ((event.clientY - area.top) / area.height) * side };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    [at, down] = [place(event), true];
    pen.style.display = "none";
    line(at);
  });
  canvas.addEventListener("pointermove", (event) => down && event.buttons && line(place(event)));
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (down = false));
  clear.addEventListener("click", () => {
    wipe();
    send();
  });

  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-4, 0], ArrowRight: [4, 0], ArrowUp: [0, -4], ArrowDown: [0, 4] }[event.key];
    if (!step && ![" ", "Delete", "Backspace"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation(); // or JupyterLab would move to another cell
    at ??= { x: side / 2, y: side / 2 };
    if (event.key === " ") down = !down;
    else if (!step) {
      down = false;
      wipe();
      send();
    }
    const to = step ? { x: at.x + step[0], y: at.y + step[1] } : at;
    for (const axis of ["x", "y"]) to[axis] = Math.min(side - wide, Math.max(wide, to[axis]));
    if (down && (step || event.key === " ")) line(to);
    at = to;
    style(pen, { display: "block", left: `${at.x * zoom}px`, top: `${at.y * zoom}px` });
    pen.style.background = down ? "#00e5ff" : "none";
  });
  canvas.addEventListener("blur", () => ((pen.style.display = "none"), (down = false)));

  const bytes = (name) => {
    const sent = model.get(name);
    return new Uint8ClampedArray(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
  };

  function show() {
    waiting = false;
    if (late) send();
    const grey = bytes("framed"), heat = bytes("colours"), face = seen.getContext("2d"), [h, w] = [28, 28];
    const picture = face.createImageData(w, h), columns = model.get("columns"), high = model.get("rows");
    for (let n = 0; n < h * w; n++) {
      const patch = Math.floor((Math.floor(n / w) * high) / h) * columns + Math.floor(((n % w) * columns) / w);
      const over = heat[4 * patch + 3] / 255;
      for (let c = 0; c < 3; c++) picture.data[4 * n + c] = grey[n] * (1 - over) + heat[4 * patch + c] * over;
      picture.data[4 * n + 3] = 255;
    }
    face.putImageData(picture, 0, 0);
    const shares = [...new Float32Array(bytes("answer").buffer)], best = shares.indexOf(Math.max(...shares));
    rows.forEach(({ bar, number }, n) => {
      style(bar, { width: `${160 * shares[n]}px`, background: n === best ? "#D55E00" : "#5B7083" });
      number.textContent = `${(100 * shares[n]).toFixed(1)} %`;
    });
    const blank = !shares[best];
    says.textContent = blank ? "Draw a digit." : `The model reads a ${best}: ${(100 * shares[best]).toFixed(1)} %.`;
  }

  paint(bytes("drawing"));
  show();
  model.on("change:answered", show);
}

export default { render };
