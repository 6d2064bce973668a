// A drawing as MNIST frames its digits, as `frame_digit` of the package does: the ink fills a box of 20 pixels, its
// centre of mass lies at pixel 14, 14. Bytes (side x side) -> bytes (28 x 28), and as `moved` in words what that did to
// the drawing, if one can see it; paper alone stays paper.
function frameDigit(ink, side) {
  const framed = Object.assign(new Uint8Array(784), { moved: "" }), rows = [], columns = [];
  for (let i = 0; i < ink.length; i++) if (ink[i]) (rows[Math.floor(i / side)] = true), (columns[i % side] = true);
  if (!rows.length) return framed;
  const top = rows.indexOf(true), left = columns.indexOf(true), high = rows.length - top, wide = columns.length - left;
  const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)); // Python's round
  const [h, w] = [high, wide].map((n) => Math.max(1, even((n * 20) / Math.max(high, wide))));
  const turn = (x, width) => x.map((_, i) => x[(i % (x.length / width)) * width + Math.floor(i / (x.length / width))]);
  const at = (i) => (top + Math.floor(i / wide)) * side + left + (i % wide);
  const cut = Uint8Array.from({ length: high * wide }, (_, i) => ink[at(i)]);
  const small = turn(shrink(turn(shrink(cut, wide, w), w), high, h), h); // along the rows, then along the columns
  let sum = 0, y = 0, x = 0;
  small.forEach((byte, i) => ((sum += byte), (y += byte * Math.floor(i / w)), (x += byte * (i % w))));
  const [down, right] = [[y, h], [x, w]].map(([s, n]) => Math.min(Math.max(even(14 - s / sum), 0), 28 - n));
  const unit = 28 / side, [y0, x0] = [(top + high / 2) * unit, (left + wide / 2) * unit]; // the middle of the ink
  const away = Math.hypot(y0 - down - h / 2, x0 - right - w / 2);
  const did = [away >= 1 && "centred", Math.abs(Math.max(high, wide) * unit - 20) >= 2 && "scaled"];
  framed.moved = did.filter(Boolean).join(" and ");
  for (let i = 0; i < h; i++) framed.set(small.subarray(i * w, i * w + w), (down + i) * 28 + right);
  return framed;
}
// Each row of x from `from` pixels to `to`, as Pillow does it: triangles, in integers of 22 bits.
function shrink(x, from, to) {
  if (from === to) return x;
  const out = new Uint8Array((x.length / from) * to), scale = from / to, reach = Math.max(scale, 1);
  for (let j = 0; j < to; j++) {
    const centre = (j + 0.5) * scale, weights = [];
    const first = Math.max(0, Math.trunc(centre - reach + 0.5));
    const last = Math.min(from, Math.trunc(centre + reach + 0.5));
    for (let i = first; i < last; i++) weights.push(Math.max(0, 1 - Math.abs((i - centre + 0.5) * (1 / reach))));
    const total = weights.reduce((a, b) => a + b);
    const whole = weights.map((weight) => Math.trunc(0.5 + (weight / total) * 2 ** 22));
    for (let row = 0; row < out.length / to; row++) {
      let sum = 2 ** 21;
      whole.forEach((weight, i) => (sum += x[row * from + first + i] * weight));
      out[row * to + j] = Math.min(255, sum >> 22);
    }
  }
  return out;
}
