// Lectures: the window full, the guesses covered until Space, U goes back, PageUp and PageDown (a clicker) turn.
function lectures(el, buttons, allowed, turn, changed) {
  const on = () => el.classList.contains("lecture");
  function set(to) {
    el.classList.toggle("lecture", to);
    el.classList.toggle("covered", to);
    document.documentElement.classList.toggle("lecturing", to);
  }
  function asked() {
    set(!on());
    on() ? el.requestFullscreen?.().catch(() => {}) : document.fullscreenElement && document.exitFullscreen();
    changed();
  }
  function uncover(event) {
    // before a button or the pad takes the key
    el.classList.remove("covered");
    kept(event);
  }
  function keys(event) {
    const { key, target } = event,
      by = { PageDown: 1, PageUp: -1 }[key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (on() && key === " " && el.classList.contains("covered")) return uncover(event);
    if (target.closest?.("input, select, .pad, .patches")) return;
    if (key.toLowerCase() === "l") asked();
    else if (!on()) return;
    else if (key.toLowerCase() === "u") history.back();
    else if (key === " " && !target.closest?.("button, summary, a")) el.classList.toggle("covered");
    else if (by) turn(by);
    else return;
    kept(event);
  }
  if (allowed) {
    tag("button", buttons, { textContent: "Lecture", title: "Full window, for a projector (L)", onclick: asked });
    addEventListener("keydown", keys, true);
    el.addEventListener("click", ({ target }) => target.closest(".answer") && el.classList.remove("covered"));
  }
  return { set, stop: () => removeEventListener("keydown", keys, true) };
}
