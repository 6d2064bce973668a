// The pictures of the live model, each on a canvas of its own.
const Paint = (() => {
  const WINNER = "#D55E00",
    OTHER = "#5B7083",
    CHOSEN = "#00e5ff",
    CLS = "204 121 167";
  const STOPS = [
    [13, 8, 135],
    [76, 2, 161],
    [126, 3, 168],
    [170, 35, 149],
    [204, 71, 120],
    [230, 108, 92],
    [248, 149, 64],
  ];
  STOPS.push([253, 197, 39], [240, 249, 33]);
  function plasma(share) {
    const at = (STOPS.length - 1) * Math.min(0.9999, share),
      n = Math.floor(at);
    return STOPS[n].map((low, i) => low + (at - n) * (STOPS[n + 1][i] - low));
  }
  function picture(side, colour) {
    // `colour(n)` of pixel n, three bytes
    const small = new OffscreenCanvas(side, side),
      face = small.getContext("2d"),
      data = face.createImageData(side, side);
    for (let n = 0; n < side * side; n++) data.data.set([...colour(n), 255], 4 * n);
    face.putImageData(data, 0, 0);
    return small;
  }
  // Numbers (n, width) as a picture: blue below zero, orange above, one scale for all; the marked row between two bars.
  function rows(canvas, numbers, width, marked) {
    const n = numbers.length / width,
      data = new ImageData(width, n),
      mark = canvas.nextElementSibling;
    if (canvas.height !== n || canvas.width !== width) [canvas.width, canvas.height] = [width, n];
    numbers.forEach((v, i) => {
      const k = Math.min(1, Math.abs(v) / 2),
        to = v > 0 ? [213, 94, 0] : [0, 114, 178];
      data.data.set([...to.map((colour) => 255 - (255 - colour) * k), 255], 4 * i);
    });
    canvas.getContext("2d").putImageData(data, 0, 0);
    mark.hidden = marked < 0 || marked >= n;
    mark.style.top = `${(100 * (marked + 0.5)) / n}%`;
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
      face.fillRect(0, 0, wide, wide);
      Object.assign(face, { fillStyle: ink, font: "13px system-ui" });
      face.fillText(dropped ? "class token, dropped" : "class token", wide + 6, 15);
    }
    Object.assign(face, { strokeStyle: CHOSEN, lineWidth: 3 });
    if (patch >= 0) face.strokeRect((patch % grid) * cell, (1 + Math.floor(patch / grid)) * cell, wide, wide);
    else if (cls) face.strokeRect(1.5, 1.5, wide - 3, wide - 3);
  }
  // What a token hears from each patch, over the picture in grey; the class token's share in the corner.
  function map(canvas, grey, { P, grid, heard, cls, silent, patch }) {
    const S = canvas.width,
      face = canvas.getContext("2d"),
      data = face.createImageData(S, S),
      most = Math.max(...heard);
    for (let i = 0; i < S * S; i++) {
      const share = heard[Math.floor(Math.floor(i / S) / P) * grid + Math.floor((i % S) / P)] / most,
        over = 0.8 * share;
      const glow = silent ? [0, 0, 0] : plasma(share),
        v = grey[i];
      data.data.set([...glow.map((g) => (silent ? 60 + v / 3 : 0.9 * v * (1 - over) + g * over)), 255], 4 * i);
    }
    face.putImageData(data, 0, 0);
    if (cls !== null) {
      face.fillStyle = "#000";
      face.fillRect(0, 0, 6, 6);
      face.fillStyle = `rgb(${CLS} / ${silent ? 0.1 : Math.min(1, cls / Math.max(most, cls))})`;
      face.fillRect(0, 0, 5, 5);
    }
    face.strokeStyle = CHOSEN;
    if (patch >= 0) face.strokeRect((patch % grid) * P + 0.5, Math.floor(patch / grid) * P + 0.5, P - 1, P - 1);
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
  return { picture, rows, cuts, map, bars, WINNER, OTHER, CHOSEN };
})();
