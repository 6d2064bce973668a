// Search over all lessons, and boxes that can be scrolled with the keyboard. Works from a disk: no fetch, no module.
const query = document.getElementById("query"), found = document.getElementById("found");
const list = found.querySelector("ol"), status = found.querySelector("p");

function load() { // the index, when it is first wanted
  if (document.getElementById("index")) return;
  const script = Object.assign(document.createElement("script"), { id: "index", src: "search.js", onload: search });
  document.body.append(script);
}

function marked(text, words) { // the neighbourhood of the first word found
  const low = text.toLowerCase(), at = Math.max(0, Math.min(...words.map((w) => low.indexOf(w)).filter((n) => n >= 0)));
  const part = document.createElement("span"), from = Math.max(0, at - 60), shown = text.slice(from, at + 120);
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "gi");
  for (const [n, piece] of shown.split(pattern).entries()) {
    part.append(n % 2 ? Object.assign(document.createElement("mark"), { textContent: piece }) : piece);
  }
  return part;
}

function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = !words.length;
  if (!words.length || typeof SECTIONS === "undefined") return;
  const hits = [];
  for (const [address, lesson, heading, text] of SECTIONS) {
    const title = heading.toLowerCase(), all = `${title} ${text.toLowerCase()}`;
    if (words.every((word) => all.includes(word))) {
      const often = words.reduce((sum, word) => sum + all.split(word).length - 1, 0);
      hits.push({ address, lesson, heading, text, score: often + 100 * words.every((word) => title.includes(word)) });
    }
  }
  hits.sort((a, b) => b.score - a.score);
  status.textContent = `${hits.length || "No"} section${hits.length === 1 ? "" : "s"}`;
  status.textContent += (hits.length > 20 ? ", the first 20:" : "");
  list.replaceChildren(...hits.slice(0, 20).map((hit) => {
    const item = document.createElement("li"), link = item.appendChild(document.createElement("a"));
    link.href = hit.address;
    link.textContent = hit.heading === hit.lesson ? hit.lesson : `${hit.lesson} › ${hit.heading}`;
    link.addEventListener("click", close);
    item.append(marked(hit.text, words));
    return item;
  }));
}

function close() {
  query.value = "";
  search();
}

query.addEventListener("focus", load);
query.addEventListener("input", search);
document.querySelector("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  if (event.key === "Enter" && event.target === query) list.querySelector("a")?.click();
});

function scrollable() {
  for (const formula of document.querySelectorAll(":is(p, li) math:not([display=block])")) {
    const room = formula.closest("p, li").clientWidth;
    formula.classList.toggle("wide", formula.scrollWidth > room || formula.getBoundingClientRect().width > room);
  }
  for (const box of document.querySelectorAll("pre, .table, .formula, math.wide")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", scrollable);
addEventListener("toggle", scrollable, true); // what was folded had no width
scrollable();
