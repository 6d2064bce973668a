// The pictures of the live model, each on a canvas of its own.
const Paint = (() => {
  const WINNER = "#D55E00",
    OTHER = "#5B7083",
    CHOSEN = "#00e5ff",
    CLS = "204 121 167"; // lesson 00's colours
  const bytes = (text) => text.match(/../g).map((pair) => parseInt(pair, 16));
  const STOPS = "0d0887 4c02a1 7e03a8 aa2395 cc4778 e66c5c f89540 fdc527 f0f921".split(" ").map(bytes); // matplotlib's plasma
  function plasma(share) {
    const at = (STOPS.length - 1) * Math.min(0.9999, share),
      n = Math.floor(at);
    return STOPS[n].map((low, i) => low + (at - n) * (STOPS[n + 1][i] - low));
  }
  function picture(side, colour, small = new OffscreenCanvas(side, side)) {
    const face = small.getContext("2d"), // `colour(n)` of pixel n, three bytes
      data = face.createImageData(side, side);
    for (let n = 0; n < side * side; n++) [data.data[4 * n], data.data[4 * n + 1], data.data[4 * n + 2]] = colour(n);
    for (let n = 3; n < data.data.length; n += 4) data.data[n] = 255;
    face.putImageData(data, 0, 0);
    return small;
  }
  // Numbers as a strip of one pixel each: blue below zero, orange above.
  function strip(canvas, numbers) {
    const data = new ImageData(numbers.length, 1);
    numbers.forEach((v, i) => {
      const k = Math.min(1, Math.abs(v) / 2),
        to = v > 0 ? [213, 94, 0] : [0, 114, 178];
      data.data.set([...to.map((colour) => 255 - (255 - colour) * k), 255], 4 * i);
    });
    canvas.width = numbers.length;
    canvas.getContext("2d").putImageData(data, 0, 0);
  }
  // The patches with gaps, the class token above them (where there is one); `patch` is framed, -1 for the class token.
  function cuts(canvas, small, { P, grid, cls, dropped, patch, ink }) {
    const face = canvas.getContext("2d"),
      cell = canvas.width / grid,
      wide = cell - 3;
    face.clearRect(0, 0, canvas.width, canvas.height);
    face.imageSmoothingEnabled = false;
    for (let n = 0; n < grid * grid; n++) {
      const y = Math.floor(n / grid),
        x = n % grid;
      face.drawImage(small, x * P, y * P, P, P, x * cell, (y + 1) * cell, wide, wide);
    }
    if (cls) {
      face.fillStyle = dropped ? "#999" : `rgb(${CLS})`;
      face.beginPath();
      face.arc(wide / 2, wide / 2, wide / 2, 0, 7);
      face.fill();
      Object.assign(face, { fillStyle: ink, font: "16px system-ui" });
      face.fillText(dropped ? "class token, off" : "class token", wide + 6, wide / 2 + 6);
    }
    Object.assign(face, { strokeStyle: CHOSEN, lineWidth: 3 });
    if (patch >= 0) face.strokeRect((patch % grid) * cell, (1 + Math.floor(patch / grid)) * cell, wide, wide);
  }
  // What a token attends to, over the image in grey; `most` is the patch with the largest share, `patch` the one that
  // looks; `z` pixels for each of the image's. One scale for all maps, from no attention to all of it. It is bent, or the
  // usual shares of a few per cent would all look alike.
  function map(canvas, grey, { P, grid, heard, most, silent, patch, z = 4 }) {
    const S = grey.side,
      face = canvas.getContext("2d"),
      cell = P * z,
      glows = Array.from(heard, (share) => [0.9 * share ** 0.4, plasma(share ** 0.4)]);
    if (canvas.width !== S * z) canvas.width = canvas.height = S * z;
    const paint = (i) => {
      const [over, glow] = glows[Math.floor(Math.floor(i / S) / P) * grid + Math.floor((i % S) / P)],
        v = grey[i];
      return glow.map((g) => (silent ? 60 + v / 3 : 0.9 * v * (1 - over) + g * over));
    };
    if (z === 1) return void picture(S, paint, canvas); // a tile: no frames
    face.imageSmoothingEnabled = false;
    face.drawImage(picture(S, paint), 0, 0, S * z, S * z);
    const frame = (n, colour, width) => {
      Object.assign(face, { strokeStyle: colour, lineWidth: width });
      face.strokeRect((n % grid) * cell + 1.5, Math.floor(n / grid) * cell + 1.5, cell - 3, cell - 3);
    };
    if (!silent) (frame(most, "#000", 5), frame(most, "#fff", 2));
    if (patch >= 0) frame(patch, CHOSEN, 3);
  }
  function bars(canvas, shares) {
    // a probability a bar; the largest in another colour
    const face = canvas.getContext("2d"),
      { width, height } = canvas,
      wide = width / shares.length;
    const most = Math.max(...shares);
    face.clearRect(0, 0, width, height);
    shares.forEach((share, n) => {
      face.fillStyle = share === most ? WINNER : OTHER;
      face.fillRect(n * wide + 1, height - 1 - (height - 2) * share, wide - 2, (height - 2) * share + 1);
    });
  }
  // Lines from points to one point, as thick as their shares (0 to 1).
  function flow(canvas, from, to, shares) {
    const face = canvas.getContext("2d"),
      most = Math.max(...shares);
    face.clearRect(0, 0, canvas.width, canvas.height);
    from.forEach(([x, y], n) => {
      const share = shares[n] / most;
      if (share < 0.1) return;
      Object.assign(face, { strokeStyle: `rgb(${CLS} / ${0.25 + 0.7 * share})`, lineWidth: 6 * share });
      face.beginPath();
      face.moveTo(x, y);
      face.bezierCurveTo((x + to[0]) / 2, y, (x + to[0]) / 2, to[1], ...to);
      face.stroke();
    });
  }
  return { picture, strip, cuts, map, bars, flow, WINNER, OTHER };
})();
