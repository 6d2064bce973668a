// A Vision Transformer in plain JavaScript: lesson 00 in another language, equations 1 to 4 of the paper.
// A matrix is a Float32Array, row by row; weights have PyTorch's shape (out, in). Sums run in double precision.
function makeViT() {
  const DEFAULTS = { // ViTConfig's, for what a file does not say
    image_size: 224, patch_size: 16, in_channels: 3, num_classes: 1000, embed_dim: 768, depth: 12, num_heads: 12,
    mlp_dim: 3072, dropout: 0, attention_dropout: 0, pool: "cls", position: "learned",
  };
  // --- a file of weights.save (lesson 08): its config, and each tensor by its name ---
  function read(bytes) {
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    let size, entries, c;
    try {
      size = Number(new DataView(buffer).getBigUint64(0, true)); // safetensors: the size of a JSON text, the text,
      entries = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size))); // and all numbers behind it
      c = { ...DEFAULTS, ...JSON.parse(entries.__metadata__.vit_config) };
    } catch {
      throw new Error("this file was not written by weights.save (lesson 08)");
    }
    const other = Object.keys(c).filter((name) => !(name in DEFAULTS) && c[name]);
    if (other.length) throw new Error(`this page reads the model of lesson 07, not one with ${other.join(", ")}`);
    const sizes = Object.keys(DEFAULTS).filter((name) => DEFAULTS[name] > 0);
    if (!sizes.every((name) => Number.isInteger(c[name]))) throw new Error("this page reads square pictures only");
    const tensors = {};
    for (const [name, shape] of Object.entries(shapes(c))) {
      const { dtype, shape: found, data_offsets: at } = entries[name] ?? {};
      if (String(found) !== String(shape)) throw new Error(`${name}: expected ${shape}, got ${found}`);
      const numbers = buffer.slice(8 + size + at[0], 8 + size + at[1]); // a copy begins at a multiple of 4
      if (numbers.byteLength !== shape.reduce((a, b) => a * b) * { F32: 4, F16: 2 }[dtype])
        throw new Error(`${name}: expected F32 or F16, whole, got ${numbers.byteLength} bytes of ${dtype}`);
      tensors[name] = dtype === "F32" ? new Float32Array(numbers) : Float32Array.from(new Uint16Array(numbers), half);
    }
    return { config: c, tensors };
  }
  function shapes(c) {
    const D = c.embed_dim, M = c.mlp_dim, P = c.patch_size, prefix = c.pool === "cls" ? 1 : 0;
    const N = prefix + Math.floor(c.image_size / P) ** 2, all = {};
    const layer = (name, n, ...rest) => Object.assign(all, { [`${name}.weight`]: [n, ...rest], [`${name}.bias`]: [n] });
    layer("patch_embedding.projection", D, c.in_channels, P, P);
    if (prefix) all["cls_token.token"] = [1, 1, D];
    all["position_embedding.embedding"] = [1, N, D];
    for (let b = 0; b < c.depth; b++) {
      const block = `encoder.blocks.${b}`;
      layer(`${block}.norm1`, D), layer(`${block}.attention.qkv`, 3 * D, D), layer(`${block}.attention.out`, D, D);
      layer(`${block}.norm2`, D), layer(`${block}.mlp.fc1`, M, D), layer(`${block}.mlp.fc2`, D, M);
    }
    layer("head.norm", D), layer("head.linear", c.num_classes, D);
    return all;
  }
  function half(bits) { // a sign, 5 bits of exponent, 10 of fraction
    const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  }

  // --- what a layer is made of ---
  function linearPlain(x, weight, bias) { // x W^T + b: (N, K), (M, K), (M) -> (N, M)
    const M = bias.length, K = weight.length / M, N = x.length / K, out = new Float32Array(N * M);
    for (let n = 0; n < N; n++)
      for (let m = 0; m < M; m++) {
        let sum = bias[m];
        for (let k = 0; k < K; k++) sum += x[n * K + k] * weight[m * K + k];
        out[n * M + m] = sum;
      }
    return out;
  }
  // The same, two rows by four columns at a time, which reads each number less often. At the edges the last block
  // overlaps the one before.
  function linear(x, weight, bias) {
    const M = bias.length, K = weight.length / M, N = x.length / K, out = new Float32Array(N * M);
    for (let row = 0; row < N; row += 2)
      for (let column = 0; column < M; column += 4) {
        const n = Math.max(0, Math.min(row, N - 2)), m = Math.max(0, Math.min(column, M - 4)), at = n * M + m;
        const x0 = n * K, x1 = x0 + K, w0 = m * K, w1 = w0 + K, w2 = w1 + K, w3 = w2 + K;
        let p0 = bias[m], p1 = bias[m + 1], p2 = bias[m + 2], p3 = bias[m + 3], q0 = p0, q1 = p1, q2 = p2, q3 = p3;
        for (let k = 0; k < K; k++) {
          const p = x[x0 + k], q = x[x1 + k];
          const a = weight[w0 + k], b = weight[w1 + k], c = weight[w2 + k], d = weight[w3 + k];
          p0 += p * a; p1 += p * b; p2 += p * c; p3 += p * d;
          q0 += q * a; q1 += q * b; q2 += q * c; q3 += q * d;
        }
        out[at] = p0; out[at + 1] = p1; out[at + 2] = p2; out[at + 3] = p3;
        out[at + M] = q0; out[at + M + 1] = q1; out[at + M + 2] = q2; out[at + M + 3] = q3;
      }
    return out;
  }
  function norm(x, weight, bias) { // LayerNorm of each row, eps 1e-6
    const D = weight.length, out = new Float32Array(x.length);
    for (let i = 0; i < x.length; i += D) {
      let mean = 0, variance = 0;
      for (let k = 0; k < D; k++) mean += x[i + k] / D;
      for (let k = 0; k < D; k++) variance += (x[i + k] - mean) ** 2 / D;
      for (let k = 0; k < D; k++) out[i + k] = ((x[i + k] - mean) / Math.sqrt(variance + 1e-6)) * weight[k] + bias[k];
    }
    return out;
  }
  function softmax(x, width = x.length, scale = 1) { // of each row, after a multiplication
    const out = new Float32Array(x.length);
    for (let i = 0; i < x.length; i += width) {
      let largest = -Infinity, sum = 0;
      for (let k = i; k < i + width; k++) largest = Math.max(largest, x[k]);
      for (let k = i; k < i + width; k++) sum += out[k] = Math.exp(scale * (x[k] - largest));
      for (let k = i; k < i + width; k++) out[k] /= sum;
    }
    return out;
  }
  function gelu(x) { // x times the share of a normal distribution below x, by its series
    if (Math.abs(x) > 6) return Math.max(x, 0);
    let term = x, sum = x;
    for (let n = 3; Math.abs(term) > 1e-9 * Math.abs(sum); n += 2) sum += term *= (x * x) / n;
    return x * (0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI));
  }
  function plus(a, b) {
    const out = new Float32Array(a.length);
    for (let i = 0; i < out.length; i++) out[i] = a[i] + b[i];
    return out;
  }
  function columns(x, width, from, count, turned) { // some columns of x (N, width) -> (N, count), or turned (count, N)
    const N = x.length / width, out = new Float32Array(N * count);
    for (let n = 0; n < N; n++)
      for (let i = 0; i < count; i++) out[turned ? i * N + n : n * count + i] = x[n * width + from + i];
    return out;
  }

  // --- attention (lesson 04): every token looks at every token ---
  // (N, D) -> for each head who looks at whom (N, N), and what all of them add (N, D).
  function attend(x, of, D, heads, silent) {
    const d = D / heads, N = x.length / D, none = new Float32Array(N + d);
    const qkv = linear(x, of("qkv.weight"), of("qkv.bias")); // a row: queries of all heads, keys, values
    const weights = [], mixed = new Float32Array(N * D);
    for (let h = 0; h < heads; h++) {
      const q = columns(qkv, 3 * D, h * d, d), k = columns(qkv, 3 * D, D + h * d, d);
      weights.push(softmax(linear(q, k, none.subarray(0, N)), N, 1 / Math.sqrt(d)));
      const seen = linear(weights[h], columns(qkv, 3 * D, 2 * D + h * d, d, true), none.subarray(0, d));
      if (!silent(h)) for (let n = 0; n < N; n++) mixed.set(seen.subarray(n * d, n * d + d), n * D + h * d);
    }
    return { weights, added: linear(mixed, of("out.weight"), of("out.bias")) };
  }

  // --- the whole model (lesson 07): bytes (C, H, W) of one image -> logits, and all that was on the way ---
  // `off` says what is left out: heads ["block.head"], attentions and mlps [block], positions, cls (the mean of the
  // patches is read instead). `order` says which patch stands where.
  function forward({ config: c, tensors: t }, image, [mean, deviation], off = {}) {
    const { heads = [], attentions = [], mlps = [], positions = false, cls = false, order } = off;
    const P = c.patch_size, S = c.image_size, side = Math.floor(S / P), D = c.embed_dim, K = c.in_channels * P * P;
    const patches = new Float32Array(side * side * K); // a row: all pixels of one patch, colour by colour
    for (let i = 0; i < patches.length; i++) {
      const place = Math.floor(i / K), from = order?.[place] ?? place, colour = Math.floor((i % K) / (P * P));
      const y = Math.floor(from / side) * P + (Math.floor(i / P) % P), x = (from % side) * P + (i % P);
      patches[i] = (image[(colour * S + y) * S + x] / 255 - mean) / deviation;
    }
    const projected = linear(patches, t["patch_embedding.projection.weight"], t["patch_embedding.projection.bias"]);
    let tokens = projected;
    if (c.pool === "cls") tokens = Float32Array.from([...t["cls_token.token"], ...projected]);
    if (!positions) tokens = plus(tokens, t["position_embedding.embedding"]); // equation 1
    if (c.pool === "cls" && cls) tokens = tokens.slice(D);
    const stream = [tokens], blocks = [];
    for (let b = 0; b < c.depth; b++) {
      const of = (name) => t[`encoder.blocks.${b}.${name}`], two = (name) => [of(`${name}.weight`), of(`${name}.bias`)];
      const silent = (h) => heads.includes(`${b}.${h}`);
      const heard = attend(norm(tokens, ...two("norm1")), (name) => of(`attention.${name}`), D, c.num_heads, silent);
      if (attentions.includes(b)) heard.added.fill(0);
      tokens = plus(tokens, heard.added); // equation 2
      const hidden = linear(norm(tokens, ...two("norm2")), ...two("mlp.fc1"));
      const thought = linear(hidden.map(gelu), ...two("mlp.fc2"));
      if (mlps.includes(b)) thought.fill(0);
      tokens = plus(tokens, thought); // equation 3
      stream.push(tokens);
      blocks.push({ weights: heard.weights });
    }
    // Equation 4 after every block: depth + 1 times (classes). The answer is the class token's; without one it is the
    // mean over all tokens, for a mean and a matrix may change places.
    const lens = stream.map((x) => {
      const read = norm(c.pool === "cls" && !cls ? x.subarray(0, D) : x, t["head.norm.weight"], t["head.norm.bias"]);
      return average(linear(read, t["head.linear.weight"], t["head.linear.bias"]), c.num_classes);
    });
    return { projected, stream, blocks, lens };
  }
  function average(rows, width) {
    const out = new Float32Array(width), N = rows.length / width;
    for (let n = 0; n < N; n++) for (let i = 0; i < width; i++) out[i] += rows[n * width + i] / N;
    return out;
  }
  return { read, forward, linear, linearPlain, softmax };
}
const ViT = makeViT();
