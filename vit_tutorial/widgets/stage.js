// What can be open under the spine: the cut, a block, the answer; and the strip under the cards, which is always there.
// Each function fills `box` once and returns what to do after each computation. `view` is what whole.js tells of the state, and its `control` makes a switch.
const tag = (name, parent, properties = {}) =>
  parent.appendChild(Object.assign(document.createElement(name), properties));
const mean = (list) => list.reduce((a, b) => a + b) / list.length;
const best = (list) => list.indexOf(Math.max(...list));
const percent = (share) => (share < 0.005 ? "under 1 %" : `${Math.round(100 * share)} %`);

const Stages = {
  cut(box, view) {
    const { c, prefix } = view,
      P = c.patch_size,
      row = tag("div", box, { className: "row" });
    const look = tag("figure", row),
      face = tag("canvas", look, { className: "patch", width: P, height: P }),
      words = tag("figcaption", look);
    const sum = tag("div", row, { className: "sum" });
    const strips = ["", "", "= the token that enters block 1"].map((textContent) => {
      const figure = tag("figure", sum);
      return { face: tag("canvas", figure, { height: 1 }), caption: tag("figcaption", figure, { textContent }) };
    });
    const switches = tag("div", row, { className: "switches" });
    view.control(switches, { name: "Positions", list: "positions" });
    view.control(switches, { name: "Patches shuffled", list: "order" });
    if (prefix) view.control(switches, { name: "Class token (off: the mean of the patches is read)", list: "cls" });
    return () => {
      const { patch, shown } = view.now(),
        D = c.embed_dim,
        lone = patch < 0;
      look.hidden = lone;
      if (!lone) {
        const [y, x] = [Math.floor(patch / view.grid) * P, (patch % view.grid) * P],
          S = c.image_size;
        const own = Paint.picture(P, (n) => view.colour(shown.off.order)((y + Math.floor(n / P)) * S + x + (n % P)));
        face.getContext("2d").drawImage(own, 0, 0);
        words.textContent = `The patch in ${view.where(patch)}: ${P * P * c.in_channels} numbers.`;
      }
      const table = view.model.tensors["position_embedding.embedding"],
        at = (x, n, width = D) => x.slice(n * width, (n + 1) * width),
        start = view.model.tensors["cls_token.token"];
      const content = lone ? start : at(shown.projected, patch),
        position = shown.off.positions ? new Float32Array(D) : at(table, patch + prefix);
      strips[1].caption.textContent = `+ its position${lone ? " (always added to it, so training moved both alike)" : ""}`;
      strips[0].caption.textContent = lone
        ? "The class token, at first the same for every image; in the blocks it gathers what the classifier reads"
        : "Its pixels times a matrix";
      for (const [n, numbers] of [content, position, content.map((v, i) => v + position[i])].entries())
        Paint.strip(strips[n].face, numbers);
    };
  },
  block(box, view, b) {
    const { c } = view,
      row = tag("div", box, { className: "row" }),
      maps = tag("div", row, { className: "maps" });
    const heads = [...Array(c.num_heads).keys()].map((h) => {
      const figure = tag("figure", maps),
        face = tag("canvas", figure, { className: "map", role: "img" }),
        words = tag("figcaption", figure);
      view.control(figure, { name: `Head ${h + 1}`, list: "heads", item: `${b}.${h}` });
      return { h, face, words };
    });
    const others = tag("div", row, { className: "switches" });
    view.control(others, { name: "Attention, all heads", list: "attentions", item: b });
    view.control(others, { name: "MLP", list: "mlps", item: b });
    tag("p", others, {
      className: "soft",
      textContent:
        "Each head decides from which patches the token takes something. Then the MLP, two matrices, reworks each token alone.",
    });
    tag("p", others, { className: "soft ends", innerHTML: "0 %<i></i>100 % of its attention" });
    return () => {
      for (const { h, face, words } of heads) {
        const { said, where } = view.map(face, b, h);
        words.textContent = said;
        face.setAttribute("aria-label", `Head ${h + 1} of block ${b + 1}: ${where}`);
      }
    };
  },
  answer(box, view) {
    const table = tag("table", tag("div", box, { className: "row" }), { className: "bars" });
    const bars = view.set.classes.map((textContent) => {
      const row = tag("tr", table);
      tag("th", row, { textContent, scope: "row" });
      const track = tag("div", tag("td", row), { className: "track" });
      return { bar: tag("i", track), tick: tag("u", track), number: tag("td", row) };
    });
    const words = tag("div", box.lastChild, { className: "says-more" });
    const tell = (textContent) => textContent && tag("p", words, { textContent });
    tell(
      "The classifier is a norm and one matrix. They turn the class token's numbers into a score for each class; softmax " +
        "makes shares of them.",
    );
    tell(view.set.most);
    const ticks = tell("The tick marks the answer with all parts on.");
    return () => {
      const { shares, plain, altered } = view.answers(),
        top = best(shares);
      ticks.hidden = !altered;
      bars.forEach(({ bar, tick, number }, n) => {
        Object.assign(bar.style, { width: `${100 * shares[n]}%`, background: n === top ? Paint.WINNER : Paint.OTHER });
        Object.assign(tick, { hidden: !altered }).style.left = `${100 * plain[n]}%`;
        number.textContent = `${(100 * shares[n]).toFixed(1)} %`;
      });
    };
  },
};

// The strip: under each card its heads and its MLP, which are switches, and how many test digits are right after it.
function strip(columns, { c, set, map }, toggle) {
  const parts = [];
  const part = (parent, list, item, more) => {
    const button = tag("button", parent, { className: "tile", onclick: () => toggle(one) }),
      one = { list, item, button, tile: true, ...more };
    button.title = `${list === "mlps" ? "MLP" : `Head ${more.h + 1}`} of block ${more.b + 1}`;
    button.dataset.tile = `${list} ${item}`;
    button.setAttribute("role", "switch");
    parts.push(one);
    return one;
  };
  for (let b = 0; b < c.depth; b++) {
    const column = tag("div", columns, { className: "column" });
    for (let h = 0; h < c.num_heads; h++) {
      const one = part(column, "heads", `${b}.${h}`, { b, h });
      one.face = tag("canvas", one.button);
    }
    const mlp = part(column, "mlps", b, { b });
    tag("span", mlp.button);
    mlp.so = tag("span", mlp.button, { className: "so" });
    if (set.after) tag("p", column, { className: "right", textContent: `${set.after[b]} % right` });
  }
  const redraw = () => {
    for (const { b, h, face, button } of parts)
      if (face) button.title = `Head ${h + 1} of block ${b + 1}: ${map(face, b, h, 1).where}`;
  };
  return { parts, redraw };
}
