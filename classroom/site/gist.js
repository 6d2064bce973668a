// What of a lesson's words stands on a slide; in full they are the lecturer's notes. A paragraph keeps what defines (it
// is bold) and what concludes ("So ..."), or else its first sentences; after a picture or an output its last one, too;
// and a last one that leads (with its colon) to the code below it. What leans on the sentence before it ("It ...")
// brings it along. A question stays whole, with all that is needed to answer it.
const SENTENCE = /(?:(?<=[.?!])|(?<=[.?!][)”"])|(?<=[.?!]<\/(?:strong|span)>))\s+(?=[A-Z(<“"[])/;
const ASIDE = /\s+\((?:[^()<>\s]+\s+){3,}[^()<>]+\)/g; // and not what is called with arguments
const UNSAID = /^(You need|Why it matters:|Next:|About \d+ minutes)/;
const LEANS = /^((Its?|That|They|Their|This|These|Those)\b|(Each|One|Both|All|None) of them\b|The others?\b)|\bthis\.$/;
const CONCLUDES = /^(So|Therefore)\b/;
const NOTEBOOK = /folded cell|this card\b/; // what is said of the notebook's own page
const WORDS = { paragraph: 34, only: 45, first: 20, question: 85, item: 30, hole: 9 };

const count = (text, of) => text.split(of).length - 1;
const words = (html) => element(html.replace(/<math.*?<\/math>/gs, "x")).textContent.trim().split(/\s+/).length;

function element(html, className = "") {
  return Object.assign(document.createElement("div"), { className, innerHTML: html });
}

function sentences(html) { // no tag and no bracket is torn
  const found = [""];
  for (const piece of html.trim().split(SENTENCE)) {
    const text = found.at(-1).replace(/<math.*?<\/math>|<code>.*?<\/code>/gs, "");
    const whole = count(text, /<\w[^>]*>/) === count(text, "</") && count(text, "(") === count(text, ")");
    if (whole) found.push(piece);
    else found.push(`${found.pop()} ${piece}`);
  }
  return found.slice(1);
}

function opening(said, most) { // the first sentence, and more while the words are few; no "None." alone
  const fits = (n) => words(said.slice(0, n + 1).join(" ")) <= most;
  return [...said.keys()].filter((n) => !n || fits(n) || (n === 1 && words(said[0]) < 4));
}

function told(html, asks, { first, only, after }) { // what stays of a paragraph, perhaps nothing
  const said = sentences(html), last = said.length - 1;
  const aside = html[0] === "(" && !html.includes("<strong>");
  if (words(html) <= WORDS.paragraph) return asks || !aside ? html : "";
  const holds = (test) => [...said.keys()].filter((n) => test(said[n], n));
  const bold = holds((text) => text.includes("<strong>")), so = holds((text) => CONCLUDES.test(text));
  const kept = new Set([...bold.flatMap((n) => [n - 1, n]), ...so]);
  const led = first || after || !LEANS.test(said[0]); // its beginning can be understood
  if (led && (first || after || !bold.length)) opening(said, only ? WORDS.only : WORDS.first).forEach((n) => kept.add(n));
  if (said[last].endsWith(":") || (after && led)) kept.add(said.findLastIndex((text) => text[0] !== "("));
  if (asks) kept.add(last - 1).add(last);
  holds((text, n) => kept.has(n) && text.endsWith("?")).forEach((n) => kept.add(n + 1)); // and its answer
  for (let n = last; n > 0; n--) { // what it leans on, and no hole of a few words
    const hole = kept.has(n) && kept.has(n - 2) && words(said[n - 1]) <= WORDS.hole;
    if (kept.has(n) && (LEANS.test(said[n]) || hole)) kept.add(n - 1);
  }
  const shown = holds((one, n) => kept.has(n) && (asks || one[0] !== "(" || bold.includes(n)));
  const text = shown.map((n) => said[n]).join(" ");
  return asks ? text : text.replace(ASIDE, "");
}

function around(node, tell) { // a paragraph with its formulas: they stay, and the words between them are told
  const pieces = [""];
  for (const one of node.childNodes) {
    const formula = one.nodeType === Node.ELEMENT_NODE && one.matches(".formula");
    const html = one.outerHTML ?? one.textContent.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    if (formula) pieces.push(html, "");
    else pieces.push(pieces.pop() + html);
  }
  return pieces.map((piece, n) => (n % 2 ? piece : tell(piece.trim()))).join(" ");
}

function shortened(node, asks, place) { // nothing of what is folded, and of what goes without saying
  const text = node.textContent.trim();
  if (node.matches("details") || UNSAID.test(text)) return "";
  if (text === "Test yourself") return `<h3>${node.innerHTML}</h3>`;
  if (text.startsWith("difficulty")) return `<p class="badge">${text}</p>`;
  if (node.matches("ul, ol")) {
    const copy = node.cloneNode(true);
    for (const item of copy.querySelectorAll("li")) {
      const said = sentences(item.innerHTML);
      item.innerHTML = opening(said, WORDS.item).map((n) => said[n]).join(" ");
    }
    return copy.outerHTML;
  }
  if (!node.matches("p")) return node.outerHTML;
  const tell = (html) => (text.startsWith("What:") ? html : told(html, asks, place));
  const here = (html) => sentences(html.replaceAll(" (folded)", "")).filter((one) => !NOTEBOOK.test(one)).join(" ");
  const said = around(node, (html) => html && tell(here(html)));
  return said.trim() && `<p>${said}</p>`;
}

// A cell's words in blocks: .words for the slide, .asked where a question begins (perhaps on a new slide), .notes for
// the lecturer. What is .cut stands in full in the notes behind it. A cell that `asks` wants a guess; `after` code or a
// picture it says what that shows.
function gist(cell, asks, after = false) {
  const nodes = [...cell.children], paragraphs = nodes.filter((node) => node.matches("p")), found = [];
  const asking = asks && (paragraphs.find((p) => p.textContent.includes("Predict")) ?? paragraphs.at(-1));
  const question = nodes.indexOf(asking);
  let first = nodes.slice(0, Math.max(0, question)).findLastIndex((node) => node.matches("h1, h2, h3")) + 1;
  if (asks && !nodes[question].textContent.startsWith("Predict")) first = question; // it brings its own context
  const brief = words(nodes.slice(first, question + 1).map((node) => node.outerHTML).join(" ")) > WORDS.question;
  for (const [n, node] of nodes.entries()) {
    const near = first <= n && n <= question, full = node.outerHTML;
    const place = { first: node === paragraphs[0], only: paragraphs.length === 1, after };
    const slide = node === asking || (near && !brief) ? full : shortened(node, near, place);
    const cut = element(slide).textContent.trim() !== node.textContent.trim();
    if (slide) found.push(element(slide, (near && n === first ? "asked" : "words") + (cut ? " cut" : "")));
    if (n === question) found.at(-1).lastElementChild.innerHTML += ' <span class="question">Your guess?</span>';
    if (cut) found.push(element(full.replaceAll("<details>", "<details open>"), "notes"));
  }
  return found;
}
