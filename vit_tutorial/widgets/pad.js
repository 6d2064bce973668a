// The pad's face: draw with mouse, finger or keys. Each drawing goes to Python; what comes back is the digit as the
// model gets it, what the model looks at, and its ten probabilities. Nothing leaves this page.
function render({ model, el }) {
  const side = model.get("side"), zoom = 2.5;
  const tag = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
  const style = (element, rules) => (Object.assign(element.style, rules), element);
  const box = style(tag("div", el, { className: "digit-pad" }), { display: "flex", flexWrap: "wrap", gap: "1.5em" });
  const left = style(tag("div", box, {}), { position: "relative" });
  const canvas = tag("canvas", left, { tabIndex: 0, width: side, height: side });
  style(canvas, { width: `${side * zoom}px`, height: `${side * zoom}px`, touchAction: "none", cursor: "crosshair" });
  canvas.setAttribute("role", "application");
  const help = "Arrow keys move the pen, space lowers and lifts it, Delete clears.";
  canvas.setAttribute("aria-label", `A pad to draw a digit on. ${help}`);
  const pen = style(tag("div", left, { hidden: true }), {
    position: "absolute", border: "2px solid #00e5ff", borderRadius: "50%", pointerEvents: "none",
    transform: "translate(-50%, -50%)", boxSizing: "border-box",
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

  let waiting = false, late = null; // a drawing that Python has not answered, and the last one since
  const empty = () => pad.show(null);
  const pad = inkPad(canvas, pen, { drawn: send, lifted: () => {}, cleared: empty });
  function send(ink) { // one drawing at a time: Python is asked again when it has answered
    if (waiting) return (late = ink);
    [waiting, late] = [true, null];
    model.set("drawing", new DataView(ink.buffer));
    model.set("asked", model.get("asked") + 1);
    model.save_changes();
  }
  clear.addEventListener("click", empty);

  const bytes = (name) => {
    const sent = model.get(name);
    return new Uint8ClampedArray(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
  };

  function show() {
    waiting = false;
    if (late) send(late);
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

  const example = new OffscreenCanvas(side, side), shown = new ImageData(side, side);
  bytes("drawing").forEach((grey, n) => shown.data.set([grey, grey, grey, 255], 4 * n));
  example.getContext("2d").putImageData(shown, 0, 0);
  pad.show(example);
  pad.on = false; // the first stroke finds paper
  pad.refused = async () => ((pad.on = true), empty());
  show();
  model.on("change:answered", show);
}

export default { render };
