// The page of the live model: LIVE is what model.js holds; the photos' weights are fetched when the first is chosen.
(() => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const fetched = (file) => () =>
    new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = file;
      script.onload = () => done(bytes(PHOTO_WEIGHTS));
      script.onerror = () => failed(new Error(`${file} lies beside this page no more`));
      document.head.append(script);
    });
  const sets = LIVE.sets.map(({ weights, examples, ...set }) => ({
    ...set,
    bytes: set.file ? fetched(set.file) : bytes(weights),
    examples: examples.map(([name, image]) => ({ name, image: bytes(image) })),
  }));
  if (!Object.keys(LIVE.links).length) document.querySelector("footer").remove(); // beside slides
  const lesson = (number, words) => (LIVE.links[number] ? `<a href="${LIVE.links[number]}">${words}</a>` : "");
  const el = document.getElementById("model");
  showWhole(el, { sets, lesson, tour: LIVE.tour, address: true }).ready.then(() => el.setAttribute("data-ready", ""));
})();
