// One forward pass at a time, in a worker where one starts (a page from a disk may have one), else here. `show` gets
// the latest only: what was asked for meanwhile replaces what was waiting.
function runner(bytes, show) {
  const model = ViT.read(bytes);
  // `others` asks for the answers alone, of the model with other parts off.
  const compute = (vit, own, { image, scale, off, plain, others }) =>
    others
      ? others.map((other) => vit.forward(own, image, scale, other).lens.at(-1))
      : { shown: vit.forward(own, image, scale, off), plain: plain ? vit.forward(own, image, scale) : null };
  let worker = null,
    busy = null,
    waiting = null;
  const here = () => setTimeout(() => done(compute(ViT, model, busy)));
  function ask(job) {
    if (busy) return void (waiting = job);
    [busy, waiting] = [job, null];
    worker ? worker.postMessage(job) : here();
  }
  function done(result) {
    const job = busy;
    busy = null;
    waiting ? ask(waiting) : show(job, result);
  }
  try {
    const text = `const vit = (${makeViT})(), compute = ${compute}; let own;
      onmessage = ({ data }) => (data.bytes ? (own = vit.read(data.bytes)) : postMessage(compute(vit, own, data)));`;
    worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => done(data);
    worker.onerror = () => {
      worker = null;
      if (busy) here();
    };
    worker.postMessage({ bytes });
  } catch {
    worker = null; // the page allows none
  }
  return { model, ask, idle: () => !busy, stop: () => worker?.terminate() };
}
