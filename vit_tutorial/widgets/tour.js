// The tour of the live model: a card that asks, waits until one has tried it, and answers. The part to touch is lit.
// `arrange(state)` sets a state, without one it brings back what was there before; with `keep` the image stays.
// A step's `done` names what has to be done, each as often as it is named: "draw", "picture", "stage 3", "mlps 5".
function showTour(el, box, steps, arrange, turned) {
  const main = steps.filter(({ more }) => !more).length,
    chosen = {},
    NONE = -1; // shown to a class, which guessed aloud
  let step = 0,
    left = [];
  const right = (n) => chosen[n] === steps[n - 1].right;
  const revealed = () => chosen[step] !== undefined && !left.length;
  function go(to, sets = true) {
    const opened = !step && to > 0,
      closed = step > 0 && !to;
    step = to;
    left = [...(steps[step - 1]?.done ?? [])];
    if (sets && (step ? step <= steps.length : closed))
      arrange(step ? (steps[step - 1].state ?? {}) : null, { opened });
    card();
  }
  function did(event) {
    const at = left.indexOf(event) < 0 ? left.findIndex((one) => one === event.split(" ")[0]) : left.indexOf(event);
    if (!step || chosen[step] === undefined || at < 0) return;
    left.splice(at, 1);
    card();
  }
  function light() {
    for (const one of el.querySelectorAll(".lit")) one.classList.remove("lit");
    const waits = step > 0 && chosen[step] !== undefined && left.length;
    el.classList.toggle("dimmed", Boolean(waits));
    el.classList.toggle("asking", step > 0 && !revealed());
    if (step && revealed()) el.classList.remove("covered");
    if (waits) for (const one of el.querySelectorAll(steps[step - 1].touch)) one.classList.add("lit");
  }
  async function show() {
    chosen[step] ??= NONE;
    left = [];
    await arrange(steps[step - 1].show, { keep: true });
    card();
  }
  function card() {
    const now = steps[step - 1] ?? {};
    box.hidden = !step;
    box.replaceChildren();
    light();
    if (!step) return;
    const words = tag("div", box, { className: "words" });
    const count = step <= main ? `Question ${step} of ${main}` : `More: ${step - main} of ${steps.length - main}`;
    tag("b", words, { textContent: `${count}. ${now.title}`, tabIndex: -1 });
    tag("p", words, { textContent: now.ask });
    const choices = tag("div", words, { className: "choices" });
    now.choices.forEach((textContent, n) => {
      const choice = tag("button", choices, { textContent });
      choice.setAttribute("aria-pressed", String(n === chosen[step]));
      choice.onclick = () => {
        chosen[step] ??= n; // the first guess counts
        card();
        box.querySelectorAll(".choices button")[n].focus();
      };
    });
    const reply = tag("p", words, { role: "status", className: "reply" });
    if (chosen[step] !== undefined && left.length) {
      reply.textContent = `Now try it: ${now.try} `;
      tag("button", reply, { textContent: "Show me", onclick: show });
    } else if (revealed()) {
      reply.textContent = chosen[step] === NONE ? now.answer : `${right(step) ? now.yes : now.no} ${now.answer}`;
      if (step === main) {
        const sum = steps.slice(0, main).filter((_, n) => right(n + 1)).length;
        tag("p", words, { textContent: `You predicted ${sum} of ${main}.`, className: "total" });
      }
    }
    const nav = tag("nav", box, { ariaLabel: "Questions" });
    const button = (textContent, to, off) => {
      const one = tag("button", nav, { textContent, disabled: off });
      one.onclick = () => {
        go(to);
        turned();
        (box.hidden ? el.querySelector(".begin") : box.querySelector("b")).focus({ preventScroll: true });
      };
    };
    button("Back", step - 1, step === 1);
    button(step === main ? "More" : "Next", step + 1, step === steps.length);
    button("Close", 0, false);
  }
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !step) return;
    go(0);
    turned();
    el.querySelector(".begin").focus();
  });
  return {
    go: (to, sets) => go(Math.min(steps.length, Math.max(0, Math.trunc(to) || 0)), sets),
    turn: (by) => (step + by >= 1 && step + by <= steps.length ? (go(step + by), turned()) : null),
    did,
    show: () => step > 0 && !revealed() && Boolean(show()), // is there something that waits?
    light,
    step: () => step,
  };
}
