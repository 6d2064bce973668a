// The tour of the live model: a card that sets a state, asks, and answers after a choice. `arrange(state)` sets one;
// without a state it brings
// back what was there before the tour; with `keep` the picture stays.
function showTour(box, steps, arrange, turned) {
  let step = 0,
    chosen = null;
  const tag = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
  function go(to, sets = true) {
    const opened = !step && to > 0;
    [step, chosen] = [to, null];
    if (sets) arrange(step ? (steps[step - 1].state ?? {}) : null, { opened });
    card();
  }
  function card() {
    const {
      title = "A tour",
      ask = `${steps.length} questions to the model, each with something to try.`,
      ...now
    } = steps[step - 1] ?? {};
    box.replaceChildren();
    box.classList.toggle("open", step > 0);
    tag("b", box, { textContent: title, tabIndex: -1 });
    const turns = tag("nav", box, { ariaLabel: "Steps" });
    tag("span", turns, { textContent: step ? `step ${step} of ${steps.length}` : "" });
    const turn = (textContent, to) =>
      (tag("button", turns, { textContent }).onclick = () => {
        go(to);
        turned();
        (to ? box.querySelector("b") : box.querySelector("nav button")).focus({ preventScroll: true });
      });
    if (step) turn("Close", 0);
    if (step > 1) turn("Back", step - 1);
    if (step < steps.length) turn(step ? "Next" : "Start", step + 1);
    tag("p", box, { textContent: ask });
    const choices = tag("div", box, { className: "buttons" });
    (now.choices ?? []).forEach((textContent, n) => {
      const choice = tag("button", choices, { textContent });
      if (n === chosen) choice.setAttribute("aria-current", "true");
      choice.onclick = () => {
        chosen = n;
        card();
        box.querySelectorAll(".buttons button")[n].focus();
        if (now.then) arrange(now.then, { keep: true });
      };
    });
    const reply = tag("p", box, { role: "status" });
    if (chosen !== null) reply.textContent = `${chosen === now.right ? "Right." : "Not quite."} ${now.answer}`;
  }
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !step) return;
    go(0);
    turned();
    box.querySelector("nav button").focus();
  });
  card();
  return { go: (to, sets) => go(Math.min(steps.length, Math.max(0, Math.trunc(to) || 0)), sets), step: () => step };
}
