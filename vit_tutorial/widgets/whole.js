// The whole model, live: one spine from the drawing to the answer, and one stage of it open below. All of it is computed
// in the page by forward.js.

// `sets`: { bytes (a file of weights.save, or a function that promises one), classes, scale [mean, deviation],
// examples [{ name, image }], drawn: can one draw?, most: a sentence about its shares, after: how many of 2000 test
// digits, in per cent, are right after each block }. `lesson` makes a link, `tour` has its steps; with `address` the
// state stands behind the page's #, and there is a mode for lectures.
function showWhole(el, { sets, lesson = () => "", tour = [], address = false }) {
  const help = "Arrow keys move the pen, space lowers and lifts it, Delete clears.";
  el.classList.add("whole-model");
  el.innerHTML = `<style>${WHOLE_CSS}</style><div class="all">
    <div class="spine">
    <section class="draw" aria-label="Draw"><p class="cap">Draw</p><div class="board">
    <canvas class="pad" width="112" height="112" tabindex="0" role="application"></canvas>
    <div class="pen" hidden></div><p class="help">${help}</p></div></section>
    <div class="examples" role="group" aria-label="Digits"></div>
    <div class="tools"></div>
    <section class="cut" aria-label="Cut"><p class="cap">Cut into patches</p>
    <canvas class="patches" tabindex="0" role="application"></canvas>
    <button class="node" data-stage="cut"></button>
    <p class="moved" hidden><canvas width="112" height="112"></canvas><span></span></p></section>
    <section class="blocks" aria-label="Blocks"><p class="cap"></p><div class="nodes"></div>
    <div class="moves"></div><p class="lines"></p></section>
    <section class="answer" aria-label="Answer"><p class="cap">Answer</p>
    <button class="node" data-stage="answer"><b class="says"></b></button>
    <p class="before"></p><p class="about"></p></section>
    <canvas class="flow" aria-hidden="true"></canvas></div><p class="hint"></p>
    <section class="tour" aria-label="Tour" hidden></section>
    <section class="stage" aria-label="The open stage"><div class="head"></div><div class="body"></div></section>
    <div class="foot"></div><p class="spoken" aria-live="polite"></p></div>`;
  const $ = (name) => el.querySelector(`.${name}`);
  const none = () => ({ heads: [], attentions: [], mlps: [], positions: false, cls: false, order: null });
  const FLAGS = ["positions", "cls", "order"];
  let set, example, image, run, c, S, grid, prefix, shown, plain, tiles;
  let off = none();
  let [token, hover, stage, drawing] = [0, null, "3", 0]; // token: 0 is the class token, where there is one
  let [controls, redraw, nodes] = [[], () => {}, []];
  let looked, // what is looked at, see `view`
    alone = {}, // whether each part off alone changes the answer, of one drawing
    again = false; // have all parts just been switched on?

  // --- a model: its parts are built for its sizes ---
  function open(other, bytes) {
    const next = runner(bytes, draw),
      { image_size, in_channels, num_classes } = next.model.config;
    if (image_size ** 2 * in_channels !== other.examples[0].image.length || num_classes !== other.classes.length) {
      next.stop();
      const found = `${num_classes} classes of ${in_channels}x${image_size}x${image_size}`;
      throw new Error(`it has ${found}, which is another picture`);
    }
    run?.stop();
    [run, set, c, S, token, shown, plain, off] = [next, other, next.model.config, image_size, 0, null, null, none()];
    controls = [];
    [grid, prefix] = [Math.floor(S / c.patch_size), c.pool === "cls" ? 1 : 0];
    Object.assign(view, { c, set, grid, prefix, model: run.model });
    nodes = [...Array(c.depth).keys()].map((b) => {
      const button = Object.assign(document.createElement("button"), { className: "node" });
      button.dataset.stage = String(b + 1);
      tag("i", button, { textContent: b + 1 });
      return { button, guess: tag("b", button), share: tag("span", button), bars: tag("canvas", button, { height: 28 }) };
    });
    $("nodes").replaceChildren(...nodes.map(({ button }) => button));
    tiles = strip($("nodes"), view, toggle);
    el.style.setProperty("--depth", c.depth);
    el.style.setProperty("--chars", Math.max(...set.classes.map(({ length }) => length)));
    el.querySelector(".blocks .cap").textContent = `Pass through ${c.depth} blocks: the guess after each`;
    el.classList.toggle("unmeasured", !set.after);
    Object.assign($("about"), { textContent: set.about ?? "", title: set.drawn ? "" : set.classes.join(", ") });
    Object.assign($("patches"), { width: grid * Math.floor(176 / grid), height: (grid + 1) * Math.floor(176 / grid) });
    pad.on = set.drawn;
    $("pad").setAttribute("aria-label", set.drawn ? `A pad to draw a digit on. ${help}` : "The photo.");
    const all = `${grid * grid} patches${prefix ? " and the class token" : ""}`;
    $("patches").setAttribute("aria-label", `${all}. Arrow keys choose the token that looks.`);
    enter(stage);
  }
  async function load(other, next, strokes = []) {
    // without `next`: an empty pad
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
    [example, again] = [next, false];
    if (next) image = next.image;
    pad.show(next && Paint.picture(S, colours()), strokes);
    changed();
  }
  const changed = () => (drawing++, ask());
  const cleared = () => load(sets[0], null);
  const pad = inkPad($("pad"), $("pen"), { drawn, lifted: () => (ask(), move.play()), cleared });
  function drawn(ink) {
    image = frameDigit(ink, pad.side);
    if (image.moved) $("moved").firstChild.getContext("2d").drawImage($("pad"), 0, 0);
    changed();
  }
  pad.refused = cleared; // one draws on paper, not on a photo
  const start = () => sets[0].examples.find(({ name }) => name === "4") ?? sets[0].examples[0];

  // --- the token that looks ---
  const patches = $("patches"),
    clip = (n) => Math.min(grid - 1, Math.max(0, n));
  const tokenAt = (row, column) => (row < 0 ? 0 : prefix + clip(row) * grid + clip(column));
  const seen = (n) => (n < 0 ? "the class token" : `the patch in ${where(n)}`);
  const where = (n) => `row ${Math.floor(n / grid) + 1}, column ${(n % grid) + 1}`;
  const hit = (event) => {
    const cell = patches.width / grid,
      { x, y } = place(event, patches);
    return tokenAt(Math.floor(y / cell) - 1, Math.floor(x / cell));
  };
  function look(next, chosen = true) {
    if (chosen) token = next ?? 0;
    hover = chosen ? null : next;
    draw();
  }
  patches.addEventListener("pointermove", (event) => hit(event) !== hover && look(hit(event), false));
  patches.addEventListener("pointerleave", () => look(null, false));
  patches.addEventListener("click", (event) => look(hit(event)));
  patches.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key],
      n = token - prefix;
    if (!step && event.key !== "Escape") return;
    kept(event);
    if (!step) look(0);
    else if (n < 0) look(step[0] > 0 || step[1] > 0 ? prefix : 0);
    else look(tokenAt(Math.floor(n / grid) + step[0], (n % grid) + step[1]));
  });

  // --- the stage that is open ---
  const NAMES = { cut: ["Cut, and give each patch its position", "01", "03"], answer: ["Answer", "06"] };
  function enter(next) {
    stage = NAMES[next] || (next >= 1 && next <= c.depth) ? String(next) : "1";
    const [name, ...lessons] = NAMES[stage] ?? [`Block ${stage}`, "04", "05"],
      head = $("head");
    head.replaceChildren();
    tag("h2", head, { textContent: name });
    const from = tag("span", head, { className: "from" });
    if (stage !== "answer") {
      tag("span", from, { className: "who" });
      tag("button", from, { textContent: "Back to the class token", className: "back", onclick: () => look(0) });
    }
    const links = lessons.map((one) => lesson(one, `lesson ${one}`)).filter(Boolean);
    if (links.length) tag("span", head, { className: "more", innerHTML: `Read more: ${links.join(", ")}` });
    controls = [];
    $("body").replaceChildren();
    const kind = NAMES[stage] ? stage : "block";
    $("stage").dataset.kind = kind;
    redraw = Stages[kind](tag("div", $("body")), view, stage - 1);
    for (const node of el.querySelectorAll(".node"))
      node.setAttribute("aria-current", String(node.dataset.stage === stage));
    draw();
    steps.light();
  }
  function go(next) {
    if (address) write();
    enter(next);
  }
  el.addEventListener("click", ({ target }) => {
    const node = target.closest(".node");
    if (node) go(node.dataset.stage);
  });
  const view = {
    where,
    control,
    colour: (order) => colours(order),
    answers: () => ({ shares: answerOf(shown), plain: answerOf(plain.result), altered: altered() }),
    // What is looked at: the row of the token that looks, how many tokens are no patches, the patch (-1: none).
    now: () => looked,
    // A map of what it attends to, and words for it.
    map(face, b, h, z) {
      const { token, first, patch, grey } = looked,
        N = first + grid ** 2;
      const weights = shown.blocks[b].weights[h].subarray(token * N, (token + 1) * N),
        heard = weights.subarray(first),
        most = best(heard);
      const silent = shown.off.heads.includes(`${b}.${h}`) || shown.off.attentions.includes(b);
      Paint.map(face, grey, { P: c.patch_size, grid, heard, most, silent, patch, z });
      const rest = first && weights[0] >= 0.05 ? `, ${percent(weights[0])} to the class token` : "";
      const said = silent ? "Switched off." : `${percent(heard[most])} to the patch framed in white${rest}`;
      return { said, where: silent ? "switched off" : `most to ${where(most)}, ${said}` };
    },
  };
  const answerOf = ({ lens }) => ViT.softmax(lens.at(-1));

  // --- switches: `list` of `off`, with its item, or a flag ---
  function control(parent, { name, list, item }) {
    const box = tag("div", parent, { className: "control" }),
      button = tag("button", box, { className: "switch" });
    const one = { list, item, so: tag("p", box, { className: "so" }), button };
    tag("span", button, { textContent: name });
    button.setAttribute("role", "switch");
    button.dataset.part = partOf(one);
    button.onclick = () => toggle(one);
    controls.push(one);
    return one;
  }
  function toggle(one) {
    if (address) write(); // what was before is a step of its own for Back
    flip(off, one);
    again = !altered();
    ask();
  }
  const partOf = ({ list, item }) => (item === undefined ? list : `${list} ${item}`);
  const shuffled = () => [...Array(grid * grid).keys()].sort((a, b) => Math.sin(9 * a + 1) - Math.sin(9 * b + 1));
  function flip(of, { list, item }) {
    if (item !== undefined) {
      const at = of[list].indexOf(item);
      at < 0 ? of[list].push(item) : of[list].splice(at, 1);
    } else if (list === "order") of.order = of.order ? null : shuffled();
    else of[list] = !of[list];
    return of;
  }
  const isOn = ({ list, item }) =>
    // the patches are not shuffled at first, all else is on
    list === "order" ? Boolean(shown.off.order) : item === undefined ? !shown.off[list] : !shown.off[list].includes(item);
  const LISTS = ["heads", "attentions", "mlps"];
  const NAMED = { attentions: "attention", mlps: "MLP", cls: "class token", order: "order (shuffled)" };
  function nameOf(part) {
    const [list, item] = part.split(" ");
    if (list === "heads") return item.split(".").reduce((b, h) => `head ${+h + 1} of block ${+b + 1}`);
    return (NAMED[list] ?? list) + (item ? ` ${+item + 1}` : "");
  }
  const changedIn = (of) => LISTS.flatMap((list) => of[list].map((item) => `${list} ${item}`)).concat(flagsIn(of));
  const flagsIn = (of) => FLAGS.filter((flag) => of[flag]);
  const namesOf = (parts) => parts.map(nameOf).join(", ");
  const altered = () => changedIn(off).length > 0;
  // What flipping each switch in sight would change, computed while nothing moves.
  let asked;
  function consequences() {
    if (!run.idle() || !shown) return;
    asked = [...controls, ...tiles.parts.filter(({ so }) => so)];
    const others = asked.map((one) => flip(structuredClone(off), one));
    run.ask({ image, scale: set.scale, drawing, parts: changedIn(off).length, others });
  }
  function tell(of, answers, job) {
    el.classList.remove("stale");
    const now = best(answerOf(shown));
    of.forEach((one, n) => {
      const then = best(answers[n]),
        [from, to] = [now, then].map((k) => set.classes[k]);
      const if_ = one.tile ? "" : `If ${isOn(one) ? "off" : "on"}${job.parts ? " as well" : ""}: `;
      one.so.textContent = one.tile && !isOn(one) ? "" : `${if_}${now === then ? `still ${to}` : `${from} → ${to}`}`;
      one.so.classList.toggle("turns", now !== then);
      if (!job.parts) alone[partOf(one)] = now !== then;
    });
    if (!job.parts) alone.drawing = job.drawing;
  }
  function uncover(what, to) {
    el.classList.toggle(`shows-${what}`, to);
    $(`to-${what}`).setAttribute("aria-pressed", String(to));
    report();
  }
  // What the screen shows, for the tour and the hints; nothing while the pen is down or something is being computed.
  function report() {
    if (!shown || pad.down() || shown.drawing !== drawing || shown.key !== JSON.stringify(off)) return;
    const parts = changedIn(off),
      ink = pad.strokes(),
      picture = example?.name,
      before = answerOf(plain.result),
      [reads, was] = [answerOf(shown), before].map((shares) => set.classes[best(shares)]),
      share = Math.round(100 * Math.max(...before)),
      other = shown.lens.map((scores) => set.classes[best(scores)] !== reads).lastIndexOf(true);
    const now = { picture, stage, token, moved: Boolean(image.moved), how: image.moved, again, after: el.classList.contains("shows-after"), reads, was };
    Object.assign(now, { four: picture === "4", example: set.drawn && /^\d$/.test(picture), right: picture === reads });
    Object.assign(now, { photo: !set.drawn, known: set.classes.includes(picture), drawn: ink.length > 0 });
    Object.assign(now, { empty: !image.some(Boolean), full: set.drawn && image.filter((byte) => byte > 250).length > 380 });
    Object.assign(now, { share, sure: share >= 60, since: Math.max(1, other + 1), looks: token > 0 });
    Object.assign(now, { drawing: `${picture} ${writeInk(ink)}`, patch: seen(token - prefix) });
    Object.assign(now, { parts: parts.join(), kind: parts.length === 1 ? parts[0].split(" ")[0] : "", block: parts.join().match(/^heads (\d)\.\d$/)?.[1], altered: altered() });
    Object.assign(now, { count: parts.length, names: namesOf(parts), turns: reads !== was });
    now.it = was === reads ? `it still reads ${reads}` : `it reads ${reads} instead of ${was}`;
    now.flips = alone.drawing === drawing ? nodes.filter((_, b) => alone[`mlps ${b}`]).length : -1;
    $("hint").textContent = filled(HINTS.find(({ when }) => fits(when, now)).say, now);
    steps.saw(now);
  }

  // --- what is seen ---
  function ask() {
    clearTimeout(later);
    move.stop();
    el.classList.add("stale"); // what was forecast
    const job = { image, scale: set.scale, off: structuredClone(off), key: JSON.stringify(off), drawing };
    run.ask({ ...job, plain: altered() && plain?.drawing !== drawing });
  }
  function colours(order) {
    // of pixel n of the image as the model gets it
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
    if (job?.others) return tell(asked, result, job);
    if (result) {
      shown = { ...result.shown, off: job.off, key: job.key, drawing: job.drawing };
      if (plain?.drawing !== job.drawing) plain = { drawing: job.drawing, result: result.plain ?? shown };
    }
    if (!shown) return;
    const dropped = Boolean(prefix) && shown.off.cls,
      first = dropped ? 0 : prefix,
      patch = dropped ? Math.max(0, (hover ?? token) - prefix) : (hover ?? token) - prefix,
      colour = colours(shown.off.order),
      grey = Float32Array.from({ length: S * S }, (_, n) => mean(colour(n))),
      small = Paint.picture(S, colour);
    looked = { token: patch + first, patch, first, shown, grey: Object.assign(grey, { side: S }) };
    Paint.cuts(patches, small, { P: c.patch_size, grid, cls: prefix, dropped, patch, ink: getComputedStyle(el).color });
    nodes.forEach(({ button, guess, share, bars }, b) => {
      const shares = ViT.softmax(shown.lens[b + 1]),
        top = best(shares);
      Paint.bars(bars, shares);
      guess.textContent = set.classes[top];
      share.textContent = `${Math.round(100 * shares[top])} %`;
      const out = changedIn(shown.off).filter((part) => Number.parseInt(part.split(" ")[1]) === b),
        says = `Block ${b + 1}: would answer ${set.classes[top]}, ${share.textContent}`;
      button.setAttribute("aria-label", out.length ? `${says}; off: ${namesOf(out)}` : says);
    });
    const cut = flagsIn(shown.off);
    el.querySelector(".cut .node").textContent = cut.length ? `Off: ${namesOf(cut)}` : "Look inside";
    $("moved").hidden = !image.moved;
    $("moved").lastChild.textContent = `drawn so, then ${image.moved}`;
    answer();
    const who = $("who"),
      from = seen(patch);
    if (who) {
      const attends = stage === "cut" ? "You see" : "Attention from";
      who.textContent = dropped ? `${attends} ${from}; the answer reads the mean of all patches` : `${attends} ${from}`;
      $("back").hidden = token === 0;
    }
    for (const one of [...controls, ...tiles.parts]) {
      if (one.tile && one.so) one.button.firstChild.textContent = isOn(one) ? "MLP" : "MLP off";
      one.button.setAttribute("aria-checked", String(isOn(one)));
      one.button.classList.toggle("out", Boolean(one.tile && (!isOn(one) || (one.face && shown.off.attentions.includes(one.b)))));
    }
    redraw();
    tiles.redraw();
    report();
    settle();
  }
  function answer() {
    const told = (shares) => `${set.classes[best(shares)]}, ${Math.round(100 * Math.max(...shares))} %`,
      reads = told(answerOf(shown));
    $("says").textContent = image.some(Boolean) ? `It reads: ${reads}` : `Empty. It would say: ${reads}`;
    $("before").replaceChildren();
    const parts = changedIn(shown.off);
    if (parts.length) {
      const few = parts.length > 3 ? `${namesOf(parts.slice(0, 2))} and ${parts.length - 2} more` : namesOf(parts);
      tag("b", $("before"), { textContent: `Off: ${few}`, title: namesOf(parts) });
      const on = () => ((off = none()), (again = true), ask());
      tag("button", $("before"), { textContent: "All on", className: "reset", onclick: on });
      tag("span", $("before"), { textContent: `All parts on: ${told(answerOf(plain.result))}` });
    }
    for (const button of $("examples").querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.textContent === example?.name && !pad.strokes().length));
    if ($("photos")) $("photos").value = set === sets[0] ? "" : example.name;
  }
  let later;
  function settle() {
    // when nothing has moved for a moment
    clearTimeout(later);
    later = setTimeout(() => {
      if (address && !move.replays()) write();
      const spoken = `${$("says").textContent}. ${$("hint").textContent}`;
      if ($("spoken").textContent !== spoken) $("spoken").textContent = spoken;
      consequences();
    }, 200);
  }

  const scene = () => looked && shown && { nodes, patches, grid, shown, first: looked.first };
  const move = motion(el, $("flow"), $("moves"), $("lines"), scene, (to) => enter(to));
  const COVERED = { forecasts: "What if it were off?", after: "Right of 2000 digits" };
  for (const [what, textContent] of Object.entries(COVERED)) {
    const onclick = ({ target }) => uncover(what, target.ariaPressed === "false");
    tag("button", $("moves"), { textContent, className: `covers to-${what}`, onclick, ariaPressed: "false" });
  }

  // --- the state behind the page's #, which Back and reload bring back ---
  function state() {
    const said = new URLSearchParams();
    if (example) said.set("picture", example.name);
    if (!example || pad.strokes().length) said.set("ink", writeInk(pad.strokes()));
    said.set("stage", stage);
    if (token) said.set("token", token);
    for (const name of LISTS) if (off[name].length) said.set(name, off[name]);
    if (flagsIn(off).length) said.set("out", flagsIn(off));
    if (steps.step()) said.set("step", steps.step());
    if (el.classList.contains("lecture")) said.set("lecture", "");
    return said;
  }
  function write() {
    const next = `#${state()}`;
    if (next === location.hash) return;
    const bare = (hash) => hash.replace("&lecture=", ""); // entering a lecture is no step back
    history[location.hash && bare(next) !== bare(location.hash) ? "pushState" : "replaceState"](null, "", next);
  }
  async function recall(said = new URLSearchParams(address ? location.hash.slice(1) : "")) {
    const list = (name) => said.get(name)?.split(",") ?? [],
      picture = said.get("picture");
    const of = sets.find(({ examples }) => examples.some(({ name }) => name === picture)) ?? sets[0];
    const strokes = of.drawn ? readInk(said.get("ink"), pad.side) : [],
      empty = strokes.length || said.get("ink") === "";
    await load(of, of.examples.find(({ name }) => name === picture) ?? (empty ? null : start()), strokes);
    if (!run) return;
    const items = (name, as = name) =>
      tiles.parts.filter((one) => one.list === as && list(name).includes(String(one.item))).map(({ item }) => item);
    off = { ...none(), heads: items("heads"), attentions: items("attentions", "mlps"), mlps: items("mlps") };
    for (const name of list("out")) if (FLAGS.includes(name)) flip(off, { list: name });
    token = Math.min(prefix + grid * grid - 1, Math.max(0, Math.trunc(said.get("token")) || 0));
    lecture.set(address && said.has("lecture"));
    const alone = said.has("step") && !said.has("stage");
    if (set.after) steps.go(said.get("step"), alone); // it speaks of our model
    if (!alone) enter(said.get("stage") ?? stage);
    const sorted = (text) => (text ?? "").split(",").sort().join(),
      lost = [...said.keys()].filter((name) => sorted(said.get(name)) !== sorted(state().get(name)));
    if (lost.length) $("told").textContent = `The address asks for what is not here, which is left out: ${lost.join(", ")}.`;
    ask();
  }
  const back = () => recall();
  if (address) addEventListener("popstate", back);
  // What a step of the tour sets; without one, what there was before the tour.
  let before = null;
  async function arrange(next, opened) {
    if (opened) before = state();
    if (!next) {
      before?.delete("step");
      const said = before;
      before = null;
      return said && recall(said);
    }
    const { picture = "4", strokes, stage: to, token: from = 0, uncovered: what, ...parts } = next;
    await load(sets[0], sets[0].examples.find(({ name }) => name === picture), readInk(strokes, pad.side));
    [off, token] = [none(), from];
    for (const [list, items] of Object.entries(parts))
      for (const item of [items].flat()) flip(off, { list, item: item === true ? undefined : item });
    for (const name of Object.keys(COVERED)) uncover(name, name === what);
    if (to) enter(to);
    ask();
  }
  const steps = showTour(el, $("tour"), tour, arrange, settle);

  // --- examples, tools, a file of the reader's ---
  tag("button", $("examples"), { textContent: "Clear", className: "clear", onclick: cleared });
  for (const next of sets[0].examples)
    tag("button", $("examples"), {
      textContent: next.name,
      className: sets[0].examples.length > 1 ? "" : "lone",
      onclick: () => (load(sets[0], next), lecture.cover(), move.play()),
    });
  if (sets[1]) {
    const photos = tag("select", $("examples"), { className: "photos", ariaLabel: "Photos" });
    tag("option", photos, { textContent: "Photos …", value: "" });
    for (const { name } of sets[1].examples) tag("option", photos, { textContent: name, value: name });
    photos.onchange = () => {
      steps.go(0, false);
      const next = sets[1].examples.find(({ name }) => name === photos.value);
      next ? load(sets[1], next).then(() => move.play()) : load(sets[0], start());
      lecture.cover();
    };
  }
  if (tour.length)
    tag("button", $("tools"), {
      textContent: "Tour",
      className: "begin",
      onclick: () => (steps.go(steps.step() ? 0 : 1, true), $("tour").querySelector("b")?.focus({ preventScroll: true })),
    });
  const own = tag("details", $("foot"));
  tag("summary", own, { textContent: "A model of your own" });
  tag("p", own, {
    textContent: "Train one in lesson 08. Its weights.save writes a .safetensors file; open that, or drop it here.",
  });
  const chooser = tag("input", own, { type: "file", accept: ".safetensors", ariaLabel: "A file of weights" });
  tag("p", $("foot"), { className: "told", role: "status" });
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
      const theirs = { ...sets[0], bytes, about: file.name, most: "", after: null };
      open(theirs, bytes);
      steps.go(0, false);
      sets[0] = theirs;
      await load(theirs, theirs.examples.includes(example) ? example : start());
      $("begin")?.remove();
      $("told").textContent = `You see ${file.name}.${tour.length ? " The tour is about our model: reload for both." : ""}`;
    } catch (error) {
      $("told").textContent = `${file.name}: ${error.message}.`;
    }
  }

  const turn = (by) => {
    const order = ["cut", ...nodes.map((_, b) => String(b + 1)), "answer"];
    steps.step()
      ? (steps.turn(by), lecture.cover())
      : go(order[Math.min(order.length - 1, Math.max(0, order.indexOf(stage) + by))]);
  };
  const lecture = lectures(el, $("tools"), { allowed: address, turn, answer: () => steps.show(), changed: settle });

  const ready = recall().then(() => move.play());
  const stop = () => (run?.stop(), clearTimeout(later), removeEventListener("popstate", back), lecture.stop());
  return { ready, stop };
}
