// Lines from the patches into one block after the other, as thick as the class token's attention. A replay also opens
// each block, and holds its guess and the answer back until then. `scene` tells what there is to show.
function motion(el, canvas, buttons, words, scene, open) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let at = 0, // the block that the lines run into, 0: none
    held = false,
    frame = null;
  function step(to) {
    const now = scene();
    at = now && to <= now.nodes.length ? to : 0;
    words.textContent = at && now.first ? `How much the class token attends to each patch in block ${at}.` : "";
    const { left, top, width, height } = canvas.parentElement.getBoundingClientRect();
    Object.assign(canvas, { width, height }); // which clears it
    if (!now) return; // another model is being loaded
    const { nodes, patches, grid, shown, first } = now;
    el.classList.toggle("held", held && at > 0 && at < nodes.length);
    nodes.forEach(({ button }, b) => button.classList.toggle("later", held && at > 0 && b >= at));
    if (held && at) open(String(at));
    if (!at || !first) return;
    const { weights } = shown.blocks[at - 1], // of the class token, the mean over heads
      shares = Array.from({ length: grid * grid }, (_, n) => mean(weights.map((head) => head[n + 1])));
    const face = patches.getBoundingClientRect(),
      cell = face.width / grid,
      node = nodes[at - 1].button.querySelector("i").getBoundingClientRect();
    const from = shares.map((_, n) => [
      face.left - left + ((n % grid) + 0.45) * cell,
      face.top - top + (Math.floor(n / grid) + 1.45) * cell,
    ]);
    Paint.flow(canvas, from, [node.left + node.width / 2 - left, node.top + node.height / 2 - top], shares);
  }
  function stop() {
    cancelAnimationFrame(frame);
    if (at) step(0);
    held = false;
  }
  function play() {
    // once, 2.4 seconds, or as a replay 6
    cancelAnimationFrame(frame);
    if (still.matches) return;
    const begun = performance.now();
    const next = (now) => {
      const to = 1 + Math.floor((Math.max(0, now - begun) * (scene()?.nodes.length ?? 0)) / (held ? 6000 : 2400));
      if (to !== at) step(to);
      if (at) frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
  }
  const button = (textContent, onclick) => tag("button", buttons, { textContent, onclick });
  const begin = () => (stop(), (held = true));
  button("Replay", () => (begin(), still.matches ? step(1) : play()));
  button("Step", () => (cancelAnimationFrame(frame), held ? step(at + 1) : (begin(), step(1))));
  return { play: () => (stop(), play()), stop, replays: () => held && at > 0 };
}
