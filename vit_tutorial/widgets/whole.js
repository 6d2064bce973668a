// The whole model, live: draw, cut, add up, the blocks, what the head would say after each, the answer. All of it is
// computed in the page by forward.js. Click a part and it is left out; ticks keep the answer of the whole model.

// `sets`: { bytes (a file of weights.save, or a function that promises one), classes, scale [mean, deviation],
// examples [{ name, image }], drawn: can one draw? }. `lesson` makes the link of a heading, `tour` has its steps; with
// `address` the state stands behind the page's #.
function showWhole(el, { sets, lesson, tour = [], address = false }) {
  const heading = (number, words, ...lessons) => {
    const links = lessons.map((one, n) => lesson(one, n ? one : `lesson ${one}`));
    return `<h2>${number} ${words} ${links.join(" ")}</h2>`;
  };
  const table = (name, words) =>
    `<figure><div><canvas class="${name}"></canvas><i></i></div><figcaption>${words}</figcaption></figure>`;
  const help = "Arrow keys move the pen, space lowers and lifts it, Delete clears.";
  el.classList.add("whole-model");
  el.innerHTML = `<style>${WHOLE_CSS}</style><div class="areas">
    <div class="left"><section class="draw">${heading(1, "Draw", "00")}<div class="board">
    <canvas class="pad" width="112" height="112" tabindex="0" role="application"></canvas>
    <div class="pen" hidden></div><p class="help soft">${help}</p></div>
    <div class="buttons" role="group" aria-label="Examples"></div><p class="about soft"></p></section>
    <section class="cut">${heading(2, "Cut; choose a token", "01")}
    <canvas class="patches" tabindex="0" role="application"></canvas><p class="who soft"></p></section></div>
    <section class="tokens">${heading(3, "Project, add class token and positions", "01", "02", "03")}<div class="sum">
    ${table("projected", "the patches, projected")}<b>+</b>${table("places", "the positions")}<b>=</b>
    ${table("stream", "the tokens that enter")}</div></section>
    <section class="blocks">
    ${heading(4, "What does the token attend to? Click a map to leave its head out", "04", "05", "09")}
    <div class="grid maps"></div><div class="grid added"></div>
    <p class="soft">Yellow: attended to most; each map has its own scale, and the number says how much. In the corner: the
    class token. Buttons: size of what a part adds, relative to the token · what it adds to the winner's score. Click:
    left out.</p></section>
    <section class="lenses">${heading(5, "What the classification head would say of this token", "06")}
    <table class="lens"></table></section>
    <div class="right"><section class="answer">${heading(6, "Answer", "06")}<p class="says"></p>
    <table class="bars"></table><p class="soft">Tick: the intact model.</p></section>
    <section class="tour" aria-label="Tour" hidden></section>
    <section class="switches"><fieldset><legend>Switches</legend>
    <label><input type="checkbox" class="positions" checked> positions</label>
    <label><input type="checkbox" class="cls" checked> class token</label>
    <label><input type="checkbox" class="order"> shuffle the patches</label>
    <label><input type="checkbox" class="firstOnly"> heads left out for the class token only</label>
    <div class="buttons"><button class="reset">Reset</button>
    <button class="open" title="a file that weights.save wrote, lesson 08">Your own model …</button></div>
    <input type="file" accept=".safetensors" hidden><p class="told soft" role="status"></p></fieldset>
    </section></div></div><p class="spoken" aria-live="polite"></p>`;
  const $ = (name) => el.querySelector(`.${name}`);
  const tag = (name, parent, properties = {}) =>
    parent.appendChild(Object.assign(document.createElement(name), properties));
  const nothing = () => ({
    heads: [],
    attentions: [],
    mlps: [],
    firstOnly: false,
    positions: false,
    cls: false,
    order: null,
  });
  let set,
    example,
    image,
    drawing = 0,
    token = 0,
    pinned = false,
    off = nothing();
  let run, c, S, D, grid, prefix, parts, shown, plain; // of the model; what was computed last, and with all parts on

  // --- a model: its parts are built for its sizes ---
  function open(other, bytes) {
    const next = runner(bytes, draw),
      { image_size, in_channels, num_classes } = next.model.config;
    const pixels = image_size ** 2 * in_channels;
    if (pixels !== other.examples[0].image.length || num_classes !== other.classes.length) {
      next.stop();
      throw new Error(
        `it has ${num_classes} classes of ${in_channels}x${image_size}x${image_size}, which is another picture`,
      );
    }
    run?.stop();
    [run, set, c, S, D, token, pinned, shown, plain] = [
      next,
      other,
      next.model.config,
      image_size,
      0,
      0,
      false,
      null,
      null,
    ];
    [D, grid, prefix] = [c.embed_dim, Math.floor(S / c.patch_size), c.pool === "cls" ? 1 : 0];
    switches();
    build();
  }
  async function load(other, next) {
    if (other !== set) {
      try {
        if (typeof other.bytes === "function") {
          $("says").textContent = "Loading …";
          other.bytes = await other.bytes();
        }
        open(other, other.bytes);
      } catch (error) {
        return void ($("told").textContent = error.message);
      }
    }
    $("told").textContent = "";
    [example, image] = [next, next.image];
    pad.show(Paint.picture(S, colours()));
    changed();
  }
  const changed = () => (drawing++, ask());
  function build() {
    for (const name of ["maps", "added", "lens", "bars"]) $(name).replaceChildren();
    el.style.setProperty("--depth", c.depth);
    parts = { heads: [], added: [], lens: [], bars: [] };
    tag("span", $("maps"));
    for (let b = 0; b < c.depth; b++) tag("span", $("maps"), { textContent: `block ${b + 1}` });
    for (let h = 0; h < c.num_heads; h++) {
      tag("span", $("maps"), { textContent: h + 1, className: "number" });
      for (let b = 0; b < c.depth; b++) {
        const button = tag("button", $("maps"), { className: "map", onclick: () => flip(off.heads, `${b}.${h}`) });
        parts.heads.push({ b, h, button, canvas: tag("canvas", button, { width: S, height: S }) });
      }
    }
    tag("span", $("added"), { textContent: "+" });
    for (let b = 0; b < c.depth; b++) {
      const box = tag("div", $("added"), { className: "adds" });
      for (const [list, word, colour] of [
        ["attentions", "att.", "#0072B2"],
        ["mlps", "MLP", "#009E73"],
      ]) {
        const button = tag("button", box, { onclick: () => flip(off[list], b) }),
          bar = tag("i", button);
        bar.style.background = colour;
        parts.added.push({ b, list, word, button, bar, text: tag("span", button) });
      }
    }
    const head = tag("tr", $("lens")),
      row = tag("tr", $("lens"));
    for (let k = 0; k <= c.depth; k++) {
      tag("th", head, { textContent: k ? `after ${k}` : "before", scope: "col" });
      const cell = tag("td", row);
      parts.lens.push({ best: tag("b", cell), canvas: tag("canvas", cell, { width: 84, height: 42 }) });
    }
    for (const textContent of set.classes) {
      const row = tag("tr", $("bars"));
      tag("th", row, { textContent, scope: "row" });
      const track = tag("div", tag("td", row), { className: "track" });
      parts.bars.push({ bar: tag("i", track), tick: tag("u", track), number: tag("td", row) });
    }
    $("cls").disabled = !prefix;
    $("about").textContent = set.about ?? "";
    parts.heads.forEach(({ button }, n) => (button.tabIndex = n ? -1 : 0));
    Object.assign($("patches"), { width: grid * Math.floor(176 / grid), height: (grid + 1) * Math.floor(176 / grid) });
    pad.on = set.drawn;
    $("pad").setAttribute("aria-label", set.drawn ? `A pad to draw a digit on. ${help}` : "The photo.");
    const all = `${grid * grid} patches${prefix ? " and the class token" : ""}`;
    $("patches").setAttribute("aria-label", `${all}. Arrow keys choose the token that you look from.`);
  }

  const pad = inkPad($("pad"), $("pen"), (ink) => {
    [image, example] = [frameDigit(ink, pad.side), null];
    changed();
  });
  pad.refused = () => load(sets[0], start()).then(pad.clear); // one draws on paper, not on a photo

  // --- the token that one looks from: 0 is the class token, where there is one ---
  const patches = $("patches");
  const clip = (n) => Math.min(grid - 1, Math.max(0, n));
  const tokenAt = (row, column) => (row < 0 ? 0 : prefix + clip(row) * grid + clip(column));
  const hit = (event) => {
    const cell = patches.width / grid,
      { x, y } = place(event, patches);
    return tokenAt(Math.floor(y / cell) - 1, Math.floor(x / cell));
  };
  function look(next, pin) {
    if (next === token && pin === pinned) return;
    [token, pinned] = [next, pin];
    draw();
  }
  patches.addEventListener("pointermove", (event) => pinned || look(hit(event), false));
  patches.addEventListener("pointerleave", () => pinned || look(0, false));
  patches.addEventListener("click", (event) => look(hit(event), !(pinned && hit(event) === token)));
  patches.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key],
      n = token - prefix;
    if (!step && event.key !== "Escape") return;
    kept(event);
    if (!step) look(0, false);
    else if (n < 0) look(step[0] > 0 ? prefix : 0, true);
    else look(tokenAt(Math.floor(n / grid) + step[0], (n % grid) + step[1]), true);
  });
  const where = (n) => `row ${Math.floor(n / grid) + 1}, column ${(n % grid) + 1}`;

  // --- the maps: one stop for Tab, arrow keys from one to the next ---
  $("maps").addEventListener("keydown", (event) => {
    const step = ARROWS[event.key],
      n = parts.heads.findIndex(({ button }) => button === event.target);
    if (!step || n < 0) return;
    kept(event);
    const next = parts.heads[n + step[0] * c.depth + step[1]]?.button;
    if (!next) return;
    [event.target.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  });

  // --- switches ---
  function flip(list, item) {
    list.includes(item) ? list.splice(list.indexOf(item), 1) : list.push(item);
    ask();
  }
  const shuffled = () => [...Array(grid * grid).keys()].sort((a, b) => Math.sin(9 * a + 1) - Math.sin(9 * b + 1));
  const ON = { positions: false, cls: false, order: true, firstOnly: true }; // what a tick says of `off`
  function switches(settings = {}) {
    off = structuredClone({ ...nothing(), ...settings });
    if (off.order) off.order = shuffled();
    for (const [name, value] of Object.entries(ON)) $(name).checked = Boolean(off[name]) === value;
  }
  for (const [name, value] of Object.entries(ON))
    $(name).onchange = ({ target }) => {
      off[name] = target.checked === value;
      if (name === "order") off.order = off.order ? shuffled() : null;
      ask();
    };
  $("reset").onclick = () => (switches(), ask());

  // --- a file of the reader's ---
  const chooser = el.querySelector("input[type=file]");
  $("open").onclick = () => chooser.click();
  chooser.onchange = () => chooser.files[0] && take(chooser.files[0]);
  for (const name of ["dragover", "dragleave", "drop"])
    el.addEventListener(name, (event) => {
      event.preventDefault();
      el.classList.toggle("drop", name === "dragover");
      if (name === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
  async function take(file) {
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      open(sets[0], bytes);
      sets[0].bytes = bytes;
      sets[0].about = file.name;
      await load(sets[0], sets[0].examples.includes(example) ? example : start());
      $("told").textContent = `You see ${file.name}.`;
    } catch (error) {
      $("told").textContent = `${file.name}: ${error.message}.`;
    }
  }

  // --- the state behind the page's # ---
  const named = (name) => sets[0].examples.find((one) => one.name === name);
  const start = () => named("4") ?? sets[0].examples[0];
  function write() {
    const said = new URLSearchParams();
    if (example) said.set("picture", example.name);
    if (token) said.set("token", token);
    for (const name of ["heads", "attentions", "mlps"]) if (off[name].length) said.set(name, off[name]);
    const out = Object.keys(ON).filter((name) => off[name]);
    if (out.length) said.set("out", out);
    if (steps.step()) said.set("step", steps.step());
    history.replaceState(null, "", `#${said}`);
  }
  let later;
  function remember() {
    // when nothing has moved for a moment: browsers refuse an address that changes all the time
    clearTimeout(later);
    later = setTimeout(() => {
      if (address) write();
      const spoken = `${$("says").textContent} ${$("who").textContent}`;
      if ($("spoken").textContent !== spoken) $("spoken").textContent = spoken;
    }, 400);
  }
  async function recall() {
    const said = new URLSearchParams(address ? location.hash.slice(1) : ""),
      list = (name) => said.get(name)?.split(",") ?? [];
    const of = sets.find((one) => one.examples.some(({ name }) => name === said.get("picture"))) ?? sets[0];
    await load(of, of.examples.find(({ name }) => name === said.get("picture")) ?? start());
    if (!run) return;
    const flags = Object.fromEntries(Object.keys(ON).map((name) => [name, list("out").includes(name)]));
    const blocks = (name) =>
      list(name)
        .map(Number)
        .filter((b) => Number.isInteger(b) && 0 <= b && b < c.depth);
    const heads = list("heads").filter((name) => parts.heads.some(({ b, h }) => name === `${b}.${h}`));
    switches({ ...flags, heads, attentions: blocks("attentions"), mlps: blocks("mlps") });
    token = Math.min(prefix + grid * grid - 1, Math.max(0, Math.trunc(said.get("token")) || 0));
    pinned = token > 0;
    steps.go(set === sets[0] ? said.get("step") : 0, [...said.keys()].join() === "step");
    el.querySelector(`section.${CSS.escape(said.get("part") ?? "none")}`)?.classList.add("lit");
    ask();
  }
  if (address) addEventListener("hashchange", recall);
  let before = null; // what there was before the tour
  async function arrange(state, { opened, keep } = {}) {
    if (opened) before = { set, example, image, seen: pad.seen(), token, off };
    if (!state && !before) return;
    const { blank, token: next = 0, ...settings } = state ?? {};
    if (!state) await load(before.set, before.example ?? before.set.examples[0]);
    else if (!keep) await load(sets[0], start());
    if (blank) pad.clear();
    if (!state && !before.example) {
      [example, image] = [null, before.image];
      pad.put(before.seen);
      changed();
    }
    switches(keep ? { ...off, ...settings } : state ? settings : before.off);
    token = state ? next : before.token;
    pinned = token > 0;
    if (!state) before = null;
    ask();
  }
  $("tour").hidden = !tour.length;
  const steps = showTour($("tour"), tour, arrange, remember);

  // --- what is seen ---
  function ask() {
    const altered =
      off.heads.length || off.attentions.length || off.mlps.length || off.positions || off.cls || off.order;
    const job = { image, scale: set.scale, off: structuredClone(off), drawing };
    run.ask({ ...job, plain: Boolean(altered) && plain?.drawing !== drawing });
  }
  function colours(order) {
    // of pixel n of the picture as the model gets it
    const P = c.patch_size,
      channel = c.in_channels > 1 ? S * S : 0;
    return (n) => {
      const y = Math.floor(n / S),
        x = n % S,
        to = order?.[Math.floor(y / P) * grid + Math.floor(x / P)];
      const from = order ? (Math.floor(to / grid) * P + (y % P)) * S + (to % grid) * P + (x % P) : n;
      return [0, 1, 2].map((colour) => image[from + colour * channel]);
    };
  }
  function draw(job, result) {
    if (result) {
      shown = { ...result.shown, off: job.off };
      if (plain?.drawing !== job.drawing) plain = { drawing: job.drawing, result: result.plain ?? shown };
    }
    if (!shown) return;
    const P = c.patch_size,
      dropped = Boolean(prefix) && shown.off.cls,
      patch = dropped ? Math.max(0, token - prefix) : token - prefix;
    const first = dropped ? 0 : prefix,
      row = dropped ? Math.max(0, token - 1) : token; // of what was computed
    const colour = colours(shown.off.order),
      grey = Float32Array.from({ length: S * S }, (_, n) => mean(colour(n)));
    Paint.cuts(patches, Paint.picture(S, colour), {
      P,
      grid,
      cls: prefix,
      dropped,
      patch,
      ink: getComputedStyle(el).color,
    });
    const places = run.model.tensors["position_embedding.embedding"];
    Paint.rows($("projected"), shown.projected, D, patch);
    Paint.rows($("places"), shown.off.positions ? new Float32Array(places.length) : places, D, token);
    Paint.rows($("stream"), shown.stream[0], D, row);
    for (const part of parts.heads) head(part, grey, { P, grid, patch }, row, first);
    for (const part of parts.added) adds(part, row);
    lens(row, !first);
    answer();
    const from = patch < 0 ? "the class token" : where(patch);
    const read = dropped ? "The mean of all patches is read. " : "";
    $("who").textContent = `${read}You look from ${from}${pinned ? ", pinned" : ""}.`;
    remember();
  }
  const mean = (list) => list.reduce((a, b) => a + b) / list.length;
  const best = (list) => list.indexOf(Math.max(...list));
  function head({ b, h, button, canvas }, grey, sizes, row, first) {
    const N = first + grid * grid,
      weights = shown.blocks[b].weights[h].subarray(row * N, (row + 1) * N);
    const heard = weights.subarray(first),
      most = best(heard),
      out = shown.off.heads.includes(`${b}.${h}`);
    const silent = out || shown.off.attentions.includes(b),
      percent = heard[most] < 0.005 ? "< 1 %" : `${Math.round(100 * heard[most])} %`;
    Paint.map(canvas, grey, { ...sizes, heard, silent, cls: first ? weights[0] : null });
    button.dataset.share = silent ? "off" : percent;
    button.setAttribute("aria-pressed", String(!out));
    const says = silent ? "left out" : `attends most to ${where(most)}, ${percent}`;
    button.setAttribute("aria-label", `block ${b + 1}, head ${h + 1}: ${says}`);
  }
  function adds({ b, list, word, button, bar, text }, row) {
    // to the chosen token, and its vote for that one's winner
    const length = (x) => Math.hypot(...x.subarray(row * D, (row + 1) * D)),
      votes = ViT.votes(run.model, shown, row)[list][b];
    const share = length(shown.blocks[b][list === "mlps" ? "thought" : "added"]) / length(shown.stream[b]);
    const C = c.num_classes,
      winner = best(shown.lens.at(-1).logits.subarray(row * C, (row + 1) * C));
    const vote = votes[winner] - mean(votes),
      signed = `${vote <= -0.05 ? "−" : "+"}${Math.abs(vote).toFixed(1)}`;
    bar.style.width = `${Math.min(100, 50 * share)}%`;
    text.textContent = `${word} ${share.toFixed(1)} · ${signed}`;
    const name = `${list === "mlps" ? "MLP" : "attention"} of block ${b + 1}`;
    button.title = `${name}: adds ${share.toFixed(1)} times its size, votes ${signed} for ${set.classes[winner]}`;
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-pressed", String(!shown.off[list].includes(b)));
  }
  function lens(row, averaged) {
    // without a class token the answer is a mean, and so is what stands here
    const C = c.num_classes;
    parts.lens.forEach(({ best: words, canvas }, k) => {
      const { logits, answer } = shown.lens[k];
      const shares = ViT.softmax(averaged ? answer : logits.slice(row * C, (row + 1) * C)),
        top = best(shares);
      Paint.bars(canvas, shares);
      words.textContent = `${set.classes[top]}\n${Math.round(100 * shares[top])} %`;
    });
  }
  function answer() {
    const [now, before] = [shown, plain.result].map(({ lens }) => ViT.softmax(lens.at(-1).answer)),
      top = best(now);
    parts.bars.forEach(({ bar, tick, number }, n) => {
      Object.assign(bar.style, { width: `${100 * now[n]}%`, background: n === top ? Paint.WINNER : Paint.OTHER });
      tick.style.left = `${100 * before[n]}%`;
      number.textContent = `${(100 * now[n]).toFixed(1)} %`;
    });
    const reads = `${set.classes[top]}, ${(100 * now[top]).toFixed(1)} %.`;
    $("says").textContent = image.some(Boolean) ? `It reads: ${reads}` : `Draw a digit. Empty: ${reads}`;
    $("tour").dataset.says = $("says").textContent;
    for (const button of $("draw").querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.textContent === example?.name));
  }

  const digits = $("draw").querySelector(".buttons");
  for (const one of sets) {
    const row = one === sets[0] ? digits : digits.cloneNode();
    $("about").before(row);
    for (const next of one.examples)
      tag("button", row, { textContent: next.name, onclick: () => (one === sets[0] || steps.go(0), load(one, next)) });
    if (one.drawn) tag("button", row, { textContent: "Clear" }).onclick = () => load(one, start()).then(pad.clear);
  }
  const stop = () => (run?.stop(), clearTimeout(later), removeEventListener("hashchange", recall));
  return { ready: recall(), stop };
}
