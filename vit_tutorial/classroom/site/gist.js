// What of a lesson's words stands on a slide; in full they are the lecturer's notes. A paragraph keeps what is bold
// with the sentence before it, or else its first sentences, and a last one that leads (with its colon) to the code
// below it. A question keeps all that is needed to answer it.
const SENTENCE = /(?:(?<=[.?!])|(?<=[.?!][)”"])|(?<=[.?!]<\/strong>))\s+(?=[A-Z(<“"[])/;
const ASIDE = /\s+\((?:[^()<>\s]+\s+){3,}[^()<>]+\)/g; // and not what is called with arguments
const UNSAID = /^(You need|Why it matters:|Next:|About \d+ minutes)/;
const BACK = /^(It|That|They|This|These|But|And|So)\b/; // a sentence that leans on the one before it
const WORDS = { paragraph: 34, only: 45, first: 20, question: 85, item: 30 }, MOST = 3; // sentences of a paragraph

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
  return [...said.keys()].filter((n) => !n || fits(n) || words(said[n - 1]) < 4);
}

function told(html, asks, first, only) { // what stays of a paragraph, the first or the only one of its cell, or nothing
  const said = sentences(html), last = said.length - 1;
  if (words(html) <= WORDS.paragraph) return asks || html[0] !== "(" ? html : "";
  const bold = [...said.keys()].filter((n) => said[n].includes("<strong>") && said[n][0] !== "(");
  let kept = bold.flatMap((n) => [n - 1, n]);
  if (!bold.length) kept = opening(said, only ? WORDS.only : WORDS.first);
  kept.push(...kept.filter((n) => said[n]?.endsWith("?")).map((n) => n + 1));
  kept.sort((a, b) => a - b);
  if (!asks) {
    if (!first && !bold.length && BACK.test(said[0])) kept = [];
    kept = kept.filter((n, at) => n >= 0 && kept.indexOf(n) === at).slice(0, MOST).filter((n) => said[n]?.[0] !== "(");
  }
  if (asks) kept.push(last - 1, last);
  else if (said[last].endsWith(":")) kept.push(last);
  const text = said.filter((_, n) => kept.includes(n)).join(" ");
  return asks ? text : text.replace(ASIDE, "");
}

function shortened(node, asks, first, only) { // nothing of what is folded, and of what goes without saying
  const text = node.textContent.trim(), inner = node.innerHTML;
  if (node.matches("details") || UNSAID.test(text)) return "";
  if (text === "Test yourself") return `<h3>${inner}</h3>`;
  if (text.startsWith("difficulty")) return `<p class="badge">${text}</p>`;
  if (node.matches("ul, ol")) {
    const copy = node.cloneNode(true);
    for (const item of copy.querySelectorAll("li")) {
      const said = sentences(item.innerHTML);
      item.innerHTML = opening(said, WORDS.item).map((n) => said[n]).join(" ");
    }
    return copy.outerHTML;
  }
  if (!node.matches("p") || node.querySelector(".formula") || text.startsWith("What:")) return node.outerHTML;
  const said = told(inner.trim(), asks, first, only);
  return said && `<p>${said}</p>`;
}

// A cell's words in blocks: .words for the slide, .asked where a question begins (perhaps on a new slide), .notes for
// the lecturer. What is .cut stands in full in the notes behind it. A cell that `asks` wants a guess.
function gist(cell, asks) {
  const nodes = [...cell.children], paragraphs = nodes.filter((node) => node.matches("p")), found = [];
  const asking = asks && (paragraphs.find((p) => p.textContent.includes("Predict")) ?? paragraphs.at(-1));
  const question = nodes.indexOf(asking);
  let first = nodes.slice(0, Math.max(0, question)).findLastIndex((node) => node.matches("h1, h2, h3")) + 1;
  if (asks && !nodes[question].textContent.startsWith("Predict")) first = question; // it brings its own context
  const brief = words(nodes.slice(first, question + 1).map((node) => node.outerHTML).join(" ")) > WORDS.question;
  for (const [n, node] of nodes.entries()) {
    const near = first <= n && n <= question, full = node.outerHTML;
    const slide = near && !brief ? full : shortened(node, near, node === paragraphs[0], paragraphs.length === 1);
    const cut = element(slide).textContent.trim() !== node.textContent.trim();
    if (slide) found.push(element(slide, (near && n === first ? "asked" : "words") + (cut ? " cut" : "")));
    if (n === question) found.at(-1).lastElementChild.innerHTML += ' <span class="question">Your guess?</span>';
    if (cut) found.push(element(full, "notes"));
  }
  return found;
}
