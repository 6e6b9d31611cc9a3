/**
 * BERT in plain JavaScript: the forward pass of `bert_numpy` once more, for one text at a time.
 *
 *     const bert = makeBert(config, vocab, readSafetensors(weights)); // the content of three files
 *     const text = encode(bert, "A grey [MASK] stood on one leg among the reeds.");
 *     const { states, attention } = bertForward(bert, text);
 *     const [logits] = mlmHead(bert, states.at(-1), [3]);
 *     best(bert, softmax(logits), 5); // [{ token: "crane", probability: 0.89, id: … }, …]
 *
 * An array of shape (rows, width) is one Float32Array that holds its rows one after another. Functions
 * and parameters have the names that they have in `bert_numpy`; there is no backward pass, so no cache.
 *
 * @typedef {Float32Array} Rows
 * @typedef {{config: object, weights: Object<string, Float32Array>, tokens: string[],
 *            vocabulary: Map<string, number>, lowercase: boolean}} Bert
 * @typedef {{tokens: string[], inputIds: number[], tokenTypeIds: number[]}} Text
 */

// --- Operations (operations.py, normal.py) ---

/** x Wᵀ + b: x is (rows, in), weight (out, in), bias (out); returns (rows, out). */
export function linear(x, weight, bias) {
  const outs = bias.length, ins = weight.length / outs, rows = x.length / ins;
  const out = new Float32Array(rows * outs);
  for (let row = 0; row < rows; row++) {
    for (let o = 0; o < outs; o++) {
      let sum = bias[o];
      for (let i = 0, a = row * ins, b = o * ins; i < ins; i++) sum += x[a + i] * weight[b + i];
      out[row * outs + o] = sum;
    }
  }
  return out;
}

/** exp(xᵢ) / Σⱼ exp(xⱼ) over one row. Subtracting the largest score keeps exp from overflowing. */
export function softmax(x) {
  const largest = x.reduce((a, b) => Math.max(a, b), -Infinity);
  const out = x.map((score) => Math.exp(score - largest));
  const sum = out.reduce((a, b) => a + b, 0);
  return out.map((value) => value / sum);
}

/** Normalize each row of x, then scale and shift; x is (rows, hidden), weight and bias (hidden). */
export function layerNorm(x, weight, bias, eps) {
  const hidden = weight.length, out = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += hidden) {
    const row = x.subarray(start, start + hidden);
    const mean = row.reduce((sum, value) => sum + value, 0) / hidden;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / hidden;
    const inverseStd = 1 / Math.sqrt(variance + eps);
    row.forEach((value, i) => (out[start + i] = (value - mean) * inverseStd * weight[i] + bias[i]));
  }
  return out;
}

/** x Φ(x), Φ being the normal distribution; "tanh" is the formula of Google's released code. */
export function gelu(x, approximation = "none") {
  if (approximation === "none") return x.map((value) => value * normalCdf(value));
  const scale = Math.sqrt(2 / Math.PI);
  return x.map((value) => 0.5 * value * (1 + Math.tanh(scale * (value + 0.044715 * value ** 3))));
}

// erfc by Press et al., Numerical Recipes, section 6.2: relative error below 1.2e-7.
const ERFC = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
              1.48851587, -0.82215223, 0.17087277];

/** Φ(x), the probability of a value below x. JavaScript has no erf. */
export function normalCdf(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + z / 2);
  const polynomial = ERFC.reduceRight((sum, coefficient) => coefficient + t * sum, 0);
  const tail = 0.5 * t * Math.exp(-z * z + polynomial); // 1 - Φ(|x|)
  return x > 0 ? 1 - tail : tail;
}

const add = (a, b) => a.map((value, i) => value + b[i]);

// --- Attention (attention.py) ---

/**
 * softmax(Q Kᵀ / √head_dim) V, in several heads: head h works on its own columns of each vector.
 * There is no padding here, so there is no mask. Switched-off heads attend, but add nothing.
 *
 * @param {Rows} query, key, value  (seq, hidden)
 * @returns {{context: Rows, weights: Rows[]}} (seq, hidden), and of each head (seq, seq)
 */
export function attentionForward(query, key, value, { hidden, heads, isOff }) {
  const seq = query.length / hidden, headDim = hidden / heads, scale = 1 / Math.sqrt(headDim);
  const context = new Float32Array(seq * hidden), weights = [];
  for (let head = 0; head < heads; head++) {
    const first = head * headDim, last = first + headDim, table = new Float32Array(seq * seq);
    for (let q = 0; q < seq; q++) {
      const scores = new Float32Array(seq);
      for (let k = 0; k < seq; k++) {
        let sum = 0;
        for (let i = first; i < last; i++) sum += query[q * hidden + i] * key[k * hidden + i];
        scores[k] = sum * scale;
      }
      const row = softmax(scores);
      table.set(row, q * seq);
      if (isOff(head)) continue;
      for (let k = 0; k < seq; k++) {
        for (let i = first; i < last; i++) context[q * hidden + i] += row[k] * value[k * hidden + i];
      }
    }
    weights.push(table);
  }
  return { context, weights };
}

// --- Operations that have parameters, by the name of these, and the parts of a layer (encoder.py) ---

const dense = (bert, name, x) =>
  linear(x, bert.weights[`${name}.weight`], bert.weights[`${name}.bias`]);

const norm = (bert, name, x) =>
  layerNorm(x, bert.weights[`${name}.weight`], bert.weights[`${name}.bias`], bert.config.layer_norm_eps);

const denseGelu = (bert, name, x) =>
  gelu(dense(bert, `${name}.dense`, x), bert.config.hidden_act === "gelu" ? "none" : "tanh");

/** What closes each half of a layer: LN(residual + dense(x)). */
const addAndNorm = (bert, name, x, residual) =>
  norm(bert, `${name}.LayerNorm`, add(dense(bert, `${name}.dense`, x), residual));

function selfAttention(bert, name, x, isOff) {
  const [query, key, value] = ["query", "key", "value"].map((role) => dense(bert, `${name}.${role}`, x));
  const { hidden_size: hidden, num_attention_heads: heads } = bert.config;
  return attentionForward(query, key, value, { hidden, heads, isOff });
}

/** Tokens exchange information; then each is worked on by itself. */
function layerForward(bert, name, x, isOff) {
  const { context, weights } = selfAttention(bert, `${name}.attention.self`, x, isOff);
  x = addAndNorm(bert, `${name}.attention.output`, context, x);
  const wide = denseGelu(bert, `${name}.intermediate`, x);
  return { x: addAndNorm(bert, `${name}.output`, wide, x), weights };
}

// --- The whole model (model.py) ---

/** Word + position + segment, then layer norm: (seq, hidden). */
function embeddingsForward(bert, { inputIds, tokenTypeIds }) {
  const hidden = bert.config.hidden_size, x = new Float32Array(inputIds.length * hidden);
  const row = (table, id) =>
    bert.weights[`bert.embeddings.${table}.weight`].subarray(id * hidden, (id + 1) * hidden);
  inputIds.forEach((id, position) => {
    const parts = [row("word_embeddings", id), row("position_embeddings", position),
                   row("token_type_embeddings", tokenTypeIds[position])];
    x.set(parts.reduce(add), position * hidden);
  });
  return norm(bert, "bert.embeddings.LayerNorm", x);
}

/**
 * The states after the embeddings and after each layer, and the attention weights of every head.
 *
 * @param {Bert} bert
 * @param {Text} text
 * @param {Set<string>} off  heads to switch off, such as "0.3" for head 3 of layer 0
 * @returns {{states: Rows[], attention: Rows[][]}} each (seq, hidden); [layer][head] is (seq, seq)
 */
export function bertForward(bert, text, off = new Set()) {
  let x = embeddingsForward(bert, text);
  const states = [x], attention = [];
  for (let number = 0; number < bert.config.num_hidden_layers; number++) {
    const isOff = (head) => off.has(`${number}.${head}`);
    const out = layerForward(bert, `bert.encoder.layer.${number}`, x, isOff);
    states.push((x = out.x));
    attention.push(out.weights);
  }
  return { states, attention };
}

/** Dense and tanh on the first token, [CLS], which stands for the pair: (1, hidden). */
export function pooler(bert, states) {
  return dense(bert, "bert.pooler.dense", states.subarray(0, bert.config.hidden_size)).map(Math.tanh);
}

/** Which word stood here? The logits (vocab) of each of the positions, from the states of any layer. */
export function mlmHead(bert, states, positions) {
  const { hidden_size: hidden } = bert.config, name = "cls.predictions";
  const decoder = bert.weights["bert.embeddings.word_embeddings.weight"]; // the same table once more
  return positions.map((position) => {
    let x = states.subarray(position * hidden, (position + 1) * hidden);
    x = denseGelu(bert, `${name}.transform`, x);
    x = norm(bert, `${name}.transform.LayerNorm`, x);
    return linear(x, decoder, bert.weights[`${name}.bias`]);
  });
}

/** Does B come right after A? The two logits; 0 is IsNext. */
export const nspHead = (bert, states) => dense(bert, "cls.seq_relationship", pooler(bert, states));

/** The most likely vocabulary entries, best first. */
export function best(bert, probabilities, count) {
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
  return order.slice(0, count).map((id) => ({ id, token: bert.tokens[id], probability: probabilities[id] }));
}

// --- Text in, ids out: WordPiece by hand (bert_corpus/wordpiece.py) ---

const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
const INVISIBLE = /[\0\ufffd\p{Cc}\p{Cf}\p{Co}]/gu; // control and format characters
const PUNCTUATION = /([\p{P}!-/:-@[-`{-~])/u; // Unicode's, and the ASCII symbols such as $ and +
const CHINESE = RegExp("[\\u4e00-\\u9fff\\u3400-\\u4dbf\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}" +
  "\\u{2b740}-\\u{2b81f}\\u{2b920}-\\u{2ceaf}\\uf900-\\ufaff\\u{2f800}-\\u{2fa1f}]", "gu");
const LONGEST_WORD = 100;

/** Cut text into words and punctuation marks. */
export function basicTokens(text, lowercase = true) {
  text = text.replace(/[\t\n\r]/g, " ").replace(INVISIBLE, "").replace(CHINESE, " $& ");
  if (lowercase) {
    text = text.normalize("NFD").replace(/\p{Mn}/gu, ""); // é is e and an accent; drop the accent
    text = Array.from(text, (char) => char.toLowerCase()).join("");
  }
  return text.split(/\s+/u).flatMap((word) => word.split(PUNCTUATION)).filter(Boolean);
}

/** Cut one word, greedily: the longest known piece first, then again with what is left. */
export function wordpieces(word, vocabulary) {
  const chars = Array.from(word), pieces = [];
  if (chars.length > LONGEST_WORD) return ["[UNK]"];
  for (let start = 0, end; start < chars.length; start = end) {
    const piece = (last) => (start > 0 ? "##" : "") + chars.slice(start, last).join("");
    for (end = chars.length; end > start && !vocabulary.has(piece(end)); ) end--;
    if (end === start) return ["[UNK]"]; // not even one character fits
    pieces.push(piece(end));
  }
  return pieces;
}

/** The tokens of a text, without [CLS] and [SEP]. Special tokens that are written out stay whole. */
export function tokenize({ vocabulary, lowercase }, text) {
  const pieces = (part) => basicTokens(part, lowercase).flatMap((word) => wordpieces(word, vocabulary));
  return text.split(SPECIAL).flatMap((part) => (SPECIAL.test(part) ? [part] : pieces(part)));
}

/** [CLS] A [SEP] B [SEP]; without B, [CLS] A [SEP]. Throws an Error if the model has too few positions. */
export function encode(bert, a, b = "") {
  const first = ["[CLS]", ...tokenize(bert, a), "[SEP]"];
  const second = b.trim() ? [...tokenize(bert, b), "[SEP]"] : [];
  const tokens = [...first, ...second], most = bert.config.max_position_embeddings;
  if (tokens.length > most) {
    throw Error(`${tokens.length} tokens are too many: this model reads at most ${most}. Shorten the text.`);
  }
  return {
    tokens,
    inputIds: tokens.map((token) => bert.vocabulary.get(token)),
    tokenTypeIds: tokens.map((_, i) => (i < first.length ? 0 : 1)),
  };
}

// --- A BERT folder: config.json, vocab.txt, model.safetensors ---

/**
 * Every array of a safetensors file under its name, as float32. A matrix may be stored as 16-bit integers: each row
 * times its entry of the array `NAME.scale`.
 */
export function readSafetensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  delete header.__metadata__;
  const read = (name) => {
    const { dtype, shape, data_offsets: offsets } = header[name];
    const bytes = buffer.slice(...offsets.map((offset) => 8 + length + offset));
    if (dtype === "F32") return new Float32Array(bytes);
    if (dtype !== "I16") throw Error(`${name} has type ${dtype}: save it as float32.`);
    const scale = read(`${name}.scale`);
    return new Float32Array(new Int16Array(bytes)).map((value, at) => value * scale[Math.floor(at / shape[1])]);
  };
  return Object.fromEntries(Object.keys(header).map((name) => [name, read(name)]));
}

/** @returns {Bert} from the content of the three files */
export function makeBert(config, vocab, weights, { lowercase = true } = {}) {
  const tokens = vocab.replace(/\n$/, "").split("\n");
  return { config, weights, tokens, vocabulary: new Map(tokens.map((token, id) => [token, id])), lowercase };
}
