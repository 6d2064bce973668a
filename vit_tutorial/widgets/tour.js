// The tour of the live model: a card that asks, waits until one has tried it, and answers. The part to touch is lit.
// A step's `need` lists what the screen must have shown of one drawing, in any order; until then the first of its `says`
// that fits, or `try`, tells what to do. Both compare with what whole.js reports of the screen (`now`), name by name.
const fits = (when, now) => Object.entries(when).every(([name, value]) => now[name] === value);
const filled = (say, now) => say.replace(/\{(\w+)\}/g, (_, name) => now[name]);

// `arrange(state)` sets a state of the model with all parts on; without one it brings back what was there before.
function showTour(el, box, steps, arrange, turned) {
  const main = steps.filter(({ more }) => !more).length,
    chosen = {},
    NONE = -1; // shown to a class, which guessed aloud
  let step = 0,
    all = [], // what the screen has shown of one drawing since the guess
    met = [], // for each of `need` the first of these that fits
    shows = 0, // which showing is under way: it ends where one goes on
    next = () => {};
  const right = (n) => chosen[n] === steps[n - 1].right;
  const guessed = () => step > 0 && chosen[step] !== undefined,
    revealed = () => guessed() && met.length > 0 && met.every(Boolean);
  function go(to, sets = true) {
    const opened = !step && to > 0,
      closed = step > 0 && !to;
    step = to;
    all = met = [];
    shows++;
    if (sets && (step || closed)) arrange(step ? (steps[step - 1].state ?? {}) : null, opened);
    card(true);
  }
  function saw(now) {
    next();
    if (!step || revealed() || JSON.stringify(now) === JSON.stringify(all.at(-1))) return;
    all = [...(guessed() ? all.filter(({ drawing }) => drawing === now.drawing) : []), now];
    if (guessed()) card();
  }
  function light() {
    for (const one of el.querySelectorAll(".lit")) one.classList.remove("lit");
    const waits = guessed() && !revealed();
    el.classList.toggle("dimmed", waits);
    el.classList.toggle("asking", step > 0 && !guessed());
    if (step && revealed()) el.classList.remove("covered");
    if (waits) for (const one of el.querySelectorAll(steps[step - 1].touch)) one.classList.add("lit");
  }
  async function show() {
    const asked = ++shows;
    chosen[step] ??= NONE;
    for (const state of [steps[step - 1].show].flat()) {
      await arrange(state);
      await new Promise((seen) => (next = seen));
      await new Promise((passed) => setTimeout(passed, 300)); // long enough to be seen
      if (shows !== asked) return;
    }
  }
  function card(fresh) {
    const now = steps[step - 1] ?? {},
      had = box.contains(document.activeElement) && document.activeElement.textContent;
    if (guessed() && !revealed()) met = now.need.map((need) => all.find((one) => fits(need, one)));
    box.hidden = !step;
    box.replaceChildren();
    light();
    if (!step) return void (had !== false && el.querySelector(".begin").focus({ preventScroll: true }));
    const words = tag("div", box, { className: "words" });
    const count = step <= main ? `Question ${step} of ${main}` : `More: ${step - main} of ${steps.length - main}`;
    tag("b", words, { textContent: `${count}. ${now.title}`, tabIndex: -1 });
    tag("p", words, { textContent: now.ask, className: "ask" });
    const choices = tag("div", words, { className: "choices" });
    now.choices.forEach((textContent, n) => {
      const choice = tag("button", choices, { textContent });
      choice.setAttribute("aria-pressed", String(n === chosen[step]));
      choice.onclick = () => {
        chosen[step] ??= n; // the first guess counts
        card();
      };
    });
    const reply = tag("p", words, { role: "status", className: "reply" });
    const boxes = (now.boxes ?? []).map((name, n) => {
      const one = met[n];
      return one ? `☑ ${name}: ${one.turns ? `${one.was} → ${one.reads}` : `still ${one.reads}`}.` : `☐ ${name}.`;
    });
    if (revealed()) {
      const said = chosen[step] === NONE ? "" : right(step) ? now.yes : now.no;
      reply.textContent = [...boxes, said, now.answer].filter(Boolean).join(" ");
      if (step === main) {
        const sum = steps.slice(0, main).filter((_, n) => right(n + 1)).length;
        tag("p", words, { textContent: `You predicted ${sum} of ${main}.`, className: "total" });
      }
    } else if (guessed()) {
      const fit = all.length && now.says?.find(({ when }) => fits(when, all.at(-1)));
      const say = fit ? filled(fit.say, all.at(-1)) : `Now try it: ${now.try}`;
      reply.textContent = [...boxes, say, ""].join(" ");
      tag("button", reply, { textContent: "Show me", onclick: show });
    }
    const nav = tag("nav", box, { ariaLabel: "Questions" });
    const button = (textContent, to, disabled) =>
      tag("button", nav, { textContent, disabled, onclick: () => (go(to), turned()) });
    button("Back", step - 1, step === 1);
    button(step === main ? "More" : "Next", step + 1, step === steps.length);
    button("Close", 0, false);
    const again = [...box.querySelectorAll("button:enabled")].find(({ textContent }) => textContent === had);
    if (had !== false) ((!fresh && again) || box.querySelector("b")).focus({ preventScroll: true });
  }
  if (steps.length) addEventListener("keydown", ({ key }) => key === "Escape" && step && (go(0), turned()));
  return {
    go: (to, sets) => go(Math.min(steps.length, Math.max(0, Math.trunc(to) || 0)), sets),
    turn: (by) => (step + by >= 1 && step + by <= steps.length ? (go(step + by), turned()) : null),
    saw,
    show: () => step > 0 && !revealed() && Boolean(show()), // is there something that waits?
    light,
    step: () => step,
  };
}
