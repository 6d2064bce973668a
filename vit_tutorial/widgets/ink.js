// A canvas that one draws white ink on, with mouse, finger or keys. `drawn` gets the ink, side x side bytes, after each
// move; `pen` is shown where the keys have brought it.
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }; // rows, columns
const kept = (event) => (event.preventDefault(), event.stopPropagation()); // or JupyterLab would move to another cell
function place(event, face) {
  const area = face.getBoundingClientRect();
  const [x, y] = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
  return { x: x * face.width, y: y * face.height };
}
function inkPad(canvas, pen, drawn) {
  const side = canvas.width,
    wide = 9,
    brush = canvas.getContext("2d", { willReadFrequently: true });
  let at = null,
    down = false,
    fresh = true; // fresh: an example is still there
  function wipe() {
    fresh = false;
    brush.fillStyle = "black";
    brush.fillRect(0, 0, side, side);
  }
  function told() {
    const pixels = brush.getImageData(0, 0, side, side).data;
    drawn(Uint8Array.from({ length: side * side }, (_, n) => pixels[4 * n]));
  }
  function line(to) {
    if (fresh) wipe();
    Object.assign(brush, { strokeStyle: "white", lineWidth: wide, lineCap: "round", lineJoin: "round" });
    brush.beginPath();
    brush.moveTo(at.x, at.y);
    brush.lineTo(to.x + 0.01, to.y); // a line of no length would not be drawn
    brush.stroke();
    at = to;
    told();
  }
  function showPen() {
    at ??= { x: side / 2, y: side / 2 };
    const px = (n) => `${(n * canvas.clientWidth) / side}px`;
    pen.hidden = false;
    Object.assign(pen.style, { left: px(at.x), top: px(at.y), width: px(wide), height: px(wide) });
    pen.style.background = down ? "#00e5ff" : "none";
  }
  const self = {
    on: true,
    refused: () => {},
    side,
    clear: () => (wipe(), told()),
    show: (picture) => ((fresh = true), brush.drawImage(picture, 0, 0, side, side)),
    seen: () => brush.getImageData(0, 0, side, side),
    put: (seen, example = false) => ((fresh = example), brush.putImageData(seen, 0, 0)),
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!self.on) return self.refused();
    canvas.setPointerCapture(event.pointerId);
    [at, down] = [place(event, canvas), true];
    pen.hidden = true;
    line(at);
  });
  canvas.addEventListener("pointermove", (event) => down && event.buttons && line(place(event, canvas)));
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (down = false));
  canvas.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (!self.on || (!step && ![" ", "Delete", "Backspace"].includes(event.key))) return;
    kept(event);
    if (event.key === " ") down = !down;
    else if (!step) ((down = false), self.clear());
    at ??= { x: side / 2, y: side / 2 };
    const to = step ? { x: at.x + 4 * step[1], y: at.y + 4 * step[0] } : { ...at };
    for (const axis of ["x", "y"]) to[axis] = Math.min(side - wide, Math.max(wide, to[axis]));
    if (down && (step || event.key === " ")) line(to);
    at = to;
    showPen();
  });
  canvas.addEventListener("focus", () => self.on && canvas.matches(":focus-visible") && showPen());
  canvas.addEventListener("blur", () => ((pen.hidden = true), (down = false)));
  return self;
}
