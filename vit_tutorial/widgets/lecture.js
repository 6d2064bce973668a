// Lectures: the window full, the guesses covered until Space, U goes back, PageUp and PageDown (a clicker) turn, Escape
// or L ends it, whatever has the focus. `turn(by)` opens what is next, `answer` shows what an open question waits for.
function lectures(el, buttons, { allowed, turn, answer, changed }) {
  const on = () => el.classList.contains("lecture"),
    cover = (to = true) => el.classList.toggle("covered", to && on());
  function set(to) {
    if (to === on()) return; // a state that Back brings again stays uncovered
    el.classList.toggle("lecture", to);
    cover();
    document.documentElement.classList.toggle("lecturing", to);
  }
  function asked() {
    set(!on());
    on() ? el.requestFullscreen?.().catch(() => {}) : document.fullscreenElement && document.exitFullscreen();
    changed();
  }
  const KEYS = {
    l: asked,
    Escape: asked,
    u: () => history.back(),
    " ": () => answer() || cover(!el.classList.contains("covered")),
    PageDown: () => turn(1),
    PageUp: () => turn(-1),
  };
  function keys(event) {
    const key = event.key.length > 1 ? event.key : event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey || !(key in KEYS)) return;
    if (!on() && (key !== "l" || event.target.closest?.("input, select"))) return;
    kept(event);
    KEYS[key]();
  }
  const left = () => !document.fullscreenElement && (set(false), changed());
  if (allowed) {
    tag("button", buttons, { textContent: "Lecture", title: "Full window, for a projector (L)", onclick: asked });
    addEventListener("keydown", keys, true); // before a button or the pad
    addEventListener("fullscreenchange", left);
    el.addEventListener("click", ({ target }) => target.closest(".answer") && cover(false));
  }
  const stop = () => (removeEventListener("keydown", keys, true), removeEventListener("fullscreenchange", left));
  return { set, cover, stop };
}
