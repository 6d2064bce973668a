// A canvas that one draws white ink on, with mouse, finger or keys, over what it shows. `drawn` gets the ink, side x side
// bytes, after each move, `lifted` is called when the pen goes up, `cleared` when all shall go; `pen` is shown where the
// keys have brought it.
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }; // rows, columns
const kept = (event) => (event.preventDefault(), event.stopPropagation()); // or JupyterLab would move to another cell
function place(event, face) {
  const area = face.getBoundingClientRect();
  const [x, y] = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
  return { x: x * face.width, y: y * face.height };
}
function inkPad(canvas, pen, { drawn, lifted, cleared }) {
  const side = canvas.width,
    wide = 9,
    brush = canvas.getContext("2d", { willReadFrequently: true });
  let strokes = [], // each a list of whole numbers x, y, x, y: what a link needs to draw them again
    at = null,
    down = false,
    pointer = null; // the one that draws: a palm, another finger or the keys beside it do not
  function told() {
    const pixels = brush.getImageData(0, 0, side, side).data;
    drawn(Uint8Array.from({ length: side * side }, (_, n) => pixels[4 * n]));
  }
  function line(from, to) {
    Object.assign(brush, { strokeStyle: "white", lineWidth: wide, lineCap: "round", lineJoin: "round" });
    brush.beginPath();
    brush.moveTo(...from);
    brush.lineTo(to[0] + 0.01, to[1]); // a line of no length would not be drawn
    brush.stroke();
  }
  function move(to) {
    const next = [to.x, to.y].map((n) => Math.round(Math.min(side, Math.max(0, n)))),
      stroke = strokes.at(-1),
      last = stroke.slice(-2);
    if (last.length && Math.hypot(next[0] - last[0], next[1] - last[1]) < 2) return;
    line(last.length ? last : next, next);
    stroke.push(...next);
    told();
  }
  function lift() {
    if (down) lifted();
    [down, pointer] = [false, null];
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
    refused: async () => {}, // what one shows may be no paper
    side,
    strokes: () => strokes,
    down: () => down,
    // A picture, or paper alone, and strokes over it.
    show(picture, over = []) {
      [strokes, down] = [over, false]; // a stroke that was under way ends with what it was drawn on
      brush.fillStyle = "black";
      brush.fillRect(0, 0, side, side);
      if (picture) brush.drawImage(picture, 0, 0, side, side);
      for (const one of strokes)
        for (let i = 0; i < one.length; i += 2) line(one.slice(Math.max(0, i - 2), i || 2), one.slice(i, i + 2));
      if (strokes.length || !picture) told();
    },
  };
  const draws = (event) => event.pointerId === pointer;
  canvas.addEventListener("pointerdown", async (event) => {
    if (pointer !== null || event.button) return;
    canvas.setPointerCapture((pointer = event.pointerId));
    if (!self.on) await self.refused();
    if (!draws(event)) return; // it was lifted meanwhile
    if (!self.on) return lift();
    down = true;
    pen.hidden = true;
    strokes.push([]);
    move((at = place(event, canvas)));
  });
  canvas.addEventListener("pointermove", (event) => draws(event) && down && move((at = place(event, canvas))));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    canvas.addEventListener(end, (event) => draws(event) && lift());
  canvas.addEventListener("keydown", async (event) => {
    const step = ARROWS[event.key];
    if (!step && ![" ", "Delete", "Backspace"].includes(event.key)) return;
    kept(event);
    if (pointer !== null) return;
    if (!self.on) await self.refused();
    if (event.key === " ") down ? lift() : ((down = true), strokes.push([]));
    else if (!step) ((down = false), cleared());
    at ??= { x: side / 2, y: side / 2 };
    const to = step ? { x: at.x + 4 * step[1], y: at.y + 4 * step[0] } : { ...at };
    for (const axis of ["x", "y"]) to[axis] = Math.min(side - wide, Math.max(wide, to[axis]));
    if (down) move(to);
    at = to;
    showPen();
  });
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && showPen());
  canvas.addEventListener("blur", () => ((pen.hidden = true), lift()));
  return self;
}
// Strokes as text for an address and back: two digits of base 36 a number, whole strokes only.
const writeInk = (strokes) => strokes.map((one) => one.map((n) => n.toString(36).padStart(2, "0")).join("")).join(".");
function readInk(text, side) {
  const strokes = (text ?? "").split(".").map((one) => (one.match(/../g) ?? []).map((pair) => parseInt(pair, 36)));
  return strokes.filter((one) => one.length > 1 && one.length % 2 === 0 && one.every((n) => n >= 0 && n <= side));
}
