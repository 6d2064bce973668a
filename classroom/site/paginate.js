// Lays the lesson out on sheets of 1280 x 720: what does not fit goes to a next sheet under the same heading.
const WIDTH = 1280, HEIGHT = 720, LEAST = 0.78; // code no smaller than this share of its size
const lesson = document.getElementById("lesson"), slides = document.querySelector(".slides");
let column, sheet, headings, group = 0, notes = [];

const fits = () => sheet.offsetHeight <= HEIGHT && sheet.scrollWidth <= WIDTH;
const heads = (block) => /^H\d$/.test(block.tagName);
const bare = () => [...sheet.children].every(heads);

function begin() { // a new sheet; measured where reveal.js has no say
  sheet = Object.assign(document.createElement("div"), { className: "sheet" });
  lesson.append(sheet);
}

function thin() { // a line or two without a heading's weight, a picture or code: no slide
  const blocks = [...sheet.children].filter((block) => !heads(block));
  const plain = (block) => block.matches(".words") && !block.querySelector("strong, li, .formula, table");
  return blocks.length && blocks.every(plain) && sheet.textContent.length < 300 ? blocks : [];
}

function say(blocks) { // in place of showing them; what was cut is in the notes already
  for (const block of blocks) {
    if (!block.matches(".cut")) note(block);
    block.remove();
  }
}

function end() {
  const first = [...sheet.children].find((block) => !heads(block))?.dataset.fragmentIndex;
  if (first) { // who turned the page has clicked already
    for (const block of sheet.querySelectorAll(`[data-fragment-index="${first}"]`)) block.classList.remove("fragment");
  }
  say(thin());
  const home = bare() ? column.lastElementChild : column.appendChild(document.createElement("section"));
  if (bare()) sheet.remove();
  else home.append(sheet);
  home?.append(...notes.splice(0));
}

function next() {
  end();
  begin();
  for (const heading of headings.slice(-1)) {
    const copy = heading.cloneNode(true);
    copy.removeAttribute("id");
    sheet.append(copy);
  }
}

function divide(block) { // long code in two, between two definitions where it can be; a long table, too
  const find = (one) => one.querySelector("pre, tbody"), inner = find(block);
  const parts = inner.rows ? [...inner.rows].map((row) => row.outerHTML) : inner.innerHTML.trimEnd().split("\n");
  const gaps = [...parts.keys()].filter((n) => n && !parts[n].replace(/<[^>]*>/g, "").trim());
  const half = parts.length / 2, places = gaps.length ? gaps : [Math.round(half)];
  const at = places.reduce((a, b) => (Math.abs(b - half) < Math.abs(a - half) ? b : a));
  block.remove();
  for (const one of [block, inner]) {
    delete one.dataset.size;
    one.style.fontSize = "";
  }
  for (const some of [parts.slice(0, at), parts.slice(gaps.length ? at + 1 : at)]) {
    const copy = block.cloneNode(true);
    find(copy).innerHTML = some.join("\n");
    place(copy);
  }
}

function narrow() { // long lines of code, and formulas
  for (const code of sheet.querySelectorAll("pre, .formula")) {
    const wide = () => code.scrollWidth > code.clientWidth;
    code.style.whiteSpace = "";
    code.style.fontSize = code.dataset.size || "";
    for (let size = parseFloat(code.dataset.size) || 1; wide() && size > LEAST; size -= 0.03) {
      code.style.fontSize = `${size}em`;
    }
    if (wide()) code.style.whiteSpace = "pre-wrap";
  }
  return fits();
}

function smaller(least) { // pictures, down to this share of the height that they were drawn in
  for (const picture of sheet.querySelectorAll("img")) {
    const over = sheet.offsetHeight - HEIGHT, drawn = Number(picture.getAttribute("height"));
    const full = (picture.dataset.full ||= Math.min(drawn, picture.offsetHeight));
    if (over > 0) picture.style.maxHeight = `${Math.max(least * full, picture.offsetHeight - over)}px`;
  }
  return fits();
}

function squeeze() { // smaller type, smaller pictures; or all as it was
  const pictures = [...sheet.querySelectorAll("img")], heights = pictures.map((picture) => picture.style.maxHeight);
  const was = sheet.className;
  if (narrow() || smaller(1)) return true;
  sheet.classList.add("tight");
  if (narrow() || smaller(0.92)) return true;
  pictures.forEach((picture, n) => (picture.style.maxHeight = heights[n]));
  sheet.className = was;
  return narrow();
}

function shrink(block) { // what is too large for a sheet of its own
  const code = block.querySelector("pre");
  sheet.classList.add("tight");
  for (let size = 0.97; !fits() && size > LEAST; size -= 0.03) {
    (code || block).style.fontSize = (code || block).dataset.size = `${size}em`;
    smaller(0.5);
  }
  if (!fits() && (code?.textContent.trim().includes("\n") || block.querySelector("tr + tr"))) divide(block);
}

function place(block) {
  if (heads(block)) {
    if (sheet.firstElementChild?.id && block.tagName === "H3") say(thin()); // between two headings
    if (!bare()) next(), sheet.replaceChildren();
    headings.push(block);
    sheet.append(block);
    return;
  }
  if (block.matches(".asked") && sheet.querySelector(".cell") && more(lead(block))) turn(lead(block));
  for (const picture of block.querySelectorAll("img")) picture.style.maxHeight = "";
  sheet.append(block);
  if (squeeze()) return;
  block.remove();
  narrow();
  if (block.matches(".signature")) return;
  const first = lead(block), code = block.querySelector("pre");
  if (more(first) || first.length > 1 || (first.length && !code)) {
    const last = first.slice(1).slice(-1).filter((one) => code && !LEANS.test(one.textContent.trim()));
    turn(more(first) ? first : last);
    return place(block);
  }
  sheet.append(block);
  if (block.matches(".cell") && block.children.length > 1) return split(block);
  shrink(block);
}

const more = (first) => [...sheet.children].some((block) => !heads(block) && !first.includes(block));

function turn(first) { // a next sheet, with these blocks of this one
  next();
  first.forEach(place);
}

function lead(block) { // words stand with the code or the list that they lead to, their picture, what "It" means
  const found = [];
  for (let last = sheet.lastElementChild, then = block; last && !heads(last); last = last.previousElementSibling) {
    const leads = last.matches(".words") && last.textContent.trim().endsWith(":") && then.matches(".cell, :has(li)");
    const of = then.matches(".words, .asked") && LEANS.test(then.textContent.trim()); // what "It" means
    const between = block.matches(".cell:not(.fragment)") && last.matches(".words") && last.previousElementSibling;
    const alone = then === block && between && between.matches(".cell") && !between.querySelector("img");
    if (!leads && !alone && !of && !(then.matches(".words") && last.querySelector("img"))) break;
    found.unshift(last);
    then = last;
  }
  return found;
}

function split(block) { // its parts one by one; they appear together, as the whole would
  block.remove();
  for (const part of [...block.children]) {
    const box = Object.assign(document.createElement("div"), { className: block.className });
    if (block.dataset.fragmentIndex) box.dataset.fragmentIndex = block.dataset.fragmentIndex;
    box.append(part);
    if (heads(part)) place(part);
    else place(box);
  }
}

function aside(html) {
  return Object.assign(document.createElement("aside"), { className: "notes", innerHTML: html });
}

function note(block) {
  notes.push(aside(block.innerHTML));
}

function describe(slide) { // when all is in its place: what its pictures show, and that nothing else is said
  for (const picture of slide.querySelectorAll("img")) slide.append(aside(`<p><b>The picture.</b> ${picture.alt}</p>`));
  if (!slide.querySelector("aside")) slide.append(aside("The lesson says no more here than this slide."));
}

function* shown(section) { // its blocks; what comes after a question comes click by click
  let asked = false, after = false;
  for (const block of [...section.children]) {
    for (const part of block.matches(".words") ? gist(block, block.matches(".asks"), after) : [block]) {
      if (part.matches(".asked") || heads(part.firstElementChild ?? part)) asked = false;
      if (asked && part.matches(".words, .cell")) part.dataset.fragmentIndex = group++;
      part.classList.toggle("fragment", "fragmentIndex" in part.dataset);
      if (part.matches(".answer")) asked = true;
      yield part;
    }
    after = block.matches(".cell");
  }
}

let behind = null; // the first sheet behind the talk
for (const section of [...lesson.children]) {
  if (section.id === "behind") {
    behind = slides.querySelectorAll("section > section").length;
    continue;
  }
  column = slides.appendChild(document.createElement("section"));
  headings = [];
  begin();
  for (const block of shown(section)) {
    if (block.matches(".notes")) note(block);
    else if (block.matches(".done")) headings.splice(1), next();
    else if (block.matches(".words, .asked")) split(block);
    else place(block);
  }
  end();
  const { name, minutes } = section.dataset, sheets = [...column.querySelectorAll("section")];
  if (!sheets.length) column.remove();
  for (const [n, one] of sheets.entries()) {
    describe(one);
    one.dataset.name = minutes ? `${name} · ${minutes} min` : name;
    one.dataset.timing = Math.round((60 * (minutes || 0)) / sheets.length);
    if (!n && minutes && one.querySelector("h2")) one.querySelector("h2").dataset.minutes = `${minutes} min`;
  }
}
lesson.remove();
const talk = behind ?? slides.querySelectorAll("section > section").length;
Reveal.initialize({
  width: WIDTH, height: HEIGHT, margin: 0, center: false, hash: true, navigationMode: "linear", transition: "none",
  controlsTutorial: false, plugins: [RevealNotes], defaultTiming: 0, pdfSeparateFragments: false,
  slideNumber: (slide) => {
    const past = Reveal.getSlidePastCount(slide) + 1;
    return [`${past > talk ? `backup ${past - talk}` : `${past} / ${talk}`} · ${slide?.dataset.name}`];
  },
});
