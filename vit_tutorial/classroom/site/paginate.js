// Lays the lesson out on sheets of 1280 x 720: what does not fit goes to a next sheet under the same heading.
const WIDTH = 1280, HEIGHT = 720;
const lesson = document.getElementById("lesson"), slides = document.querySelector(".slides");
let column, sheet, headings, group = 0;

const fits = () => sheet.offsetHeight <= HEIGHT && sheet.scrollWidth <= WIDTH;
const heads = (block) => /^H\d$/.test(block.tagName);
const bare = () => [...sheet.children].every(heads);

function begin() { // a new sheet; measured where reveal.js has no say
  sheet = Object.assign(document.createElement("div"), { className: "sheet" });
  lesson.append(sheet);
}

function end() {
  const first = [...sheet.children].find((block) => !heads(block))?.dataset.fragmentIndex;
  if (first) { // who turned the page has clicked already
    for (const block of sheet.querySelectorAll(`[data-fragment-index="${first}"]`)) block.classList.remove("fragment");
  }
  if (!bare() || headings.includes(sheet.lastElementChild)) {
    const section = column.appendChild(document.createElement("section"));
    section.append(sheet);
  } else sheet.remove();
}

function next() {
  end();
  begin();
  for (const heading of headings.slice(-1)) {
    const copy = heading.cloneNode(true);
    copy.removeAttribute("id");
    copy.append(" ", Object.assign(document.createElement("small"), { textContent: "(continued)" }));
    sheet.append(copy);
  }
}

function divide(block) { // long code in two, between two definitions where it can be
  const lines = block.querySelector("pre").innerHTML.trimEnd().split("\n"), half = lines.length / 2;
  const blank = [...lines.keys()].filter((n) => n && !lines[n].replace(/<[^>]*>/g, "").trim());
  const places = blank.length ? blank : [Math.round(half)];
  const at = places.reduce((a, b) => (Math.abs(b - half) < Math.abs(a - half) ? b : a));
  const copies = [lines.slice(0, at), lines.slice(blank.length ? at + 1 : at)].map((part) => {
    const copy = block.cloneNode(true);
    copy.querySelector("pre").innerHTML = part.join("\n");
    return copy;
  });
  block.remove();
  copies.forEach(place);
}

function shrink(block) { // what is too large for a sheet of its own, and pictures that nearly fit
  for (const picture of block.querySelectorAll("img")) {
    const over = sheet.offsetHeight - HEIGHT;
    if (over > 0) picture.style.maxHeight = `${Math.max(160, picture.offsetHeight - over)}px`;
  }
  const code = block.querySelector("pre");
  const least = code ? 0.7 : 0.3;
  for (let size = 0.95; !fits() && size > least; size -= 0.05) (code || block).style.fontSize = `${size}em`;
  if (!fits() && code?.textContent.trim().includes("\n")) divide(block);
}

function narrow(block) { // long lines of code
  for (const code of [...block.querySelectorAll("pre"), ...(block.matches("pre") ? [block] : [])]) {
    const wide = () => code.scrollWidth > code.clientWidth;
    for (let size = 0.95; wide() && size > 0.6; size -= 0.05) code.style.fontSize = `${size}em`;
    if (wide()) code.style.whiteSpace = "pre-wrap";
  }
}

function place(block) {
  if (heads(block)) {
    if (!bare()) next(), sheet.replaceChildren();
    headings.push(block);
    sheet.append(block);
    return;
  }
  sheet.append(block);
  narrow(block);
  if (fits()) return;
  const picture = block.querySelector("img");
  if (picture && picture.offsetHeight - (sheet.offsetHeight - HEIGHT) > 0.65 * picture.offsetHeight) shrink(block);
  if (fits()) return;
  block.remove();
  if (!bare()) {
    const asked = block.matches(".question") ? sheet.lastElementChild : null; // the question goes with its words
    next();
    if (asked) place(asked);
    return place(block);
  }
  sheet.append(block);
  if (block.matches(".cell") && block.children.length > 1) return split(block);
  shrink(block);
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

for (const section of lesson.querySelectorAll("section")) {
  if (section.dataset.kind === "slide" || !column) column = slides.appendChild(document.createElement("section"));
  headings = [];
  begin();
  for (const block of [...section.children]) {
    if (block.matches(".fragment")) block.dataset.fragmentIndex = group++;
    if (block.matches(".words")) split(block);
    else place(block);
  }
  end();
  section.remove();
}
lesson.remove();
Reveal.initialize({
  width: WIDTH, height: HEIGHT, margin: 0, center: false, hash: true, navigationMode: "linear", transition: "none",
  slideNumber: "c/t", controlsTutorial: false,
});
