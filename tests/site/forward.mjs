// One forward pass of bert.mjs a request: reads JSON from standard input, writes JSON.
//
//     {"folder": …, "texts": [{"a": …, "b": …, "off": ["0.1"]}, …]}   every state, attention and logit
//     {"folder": …, "tokenize": [text, …]}                          the tokens of each text
//     {"folder": …, "blanks": [{"ids": [...], "types": [...], "position": 3}, …]}   the first answers
//
// "weights" names another file than the folder's own.
import { readFileSync } from "node:fs";
import { best, bertForward, encode, makeBert, mlmHead, nspHead, readSafetensors, tokenize } from "../../site/bert.mjs";

const request = JSON.parse(readFileSync(0, "utf8"));
const read = (name) => readFileSync(`${request.folder}/${name}`);
const bytes = request.weights ? readFileSync(request.weights) : read("model.safetensors");
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const bert = makeBert(JSON.parse(read("config.json")), String(read("vocab.txt")), readSafetensors(buffer), request);
const plain = (array) => Array.from(array);

function computed({ a, b, off }) {
  const text = encode(bert, a, b), { states, attention } = bertForward(bert, text, new Set(off));
  const all = text.tokens.map((_, position) => position);
  return {
    ...text,
    states: states.map(plain),
    attention: attention.map((heads) => heads.map(plain)),
    words: states.map((layer) => mlmHead(bert, layer, all).map(plain)),
    pair: plain(nspHead(bert, states.at(-1))),
  };
}

function answer({ ids, types, position }) {
  const { states } = bertForward(bert, { inputIds: ids, tokenTypeIds: types });
  return best(bert, mlmHead(bert, states.at(-1), [position])[0], 1)[0].id;
}

console.log(JSON.stringify({
  texts: request.texts?.map(computed),
  tokens: request.tokenize?.map((text) => tokenize(bert, text)),
  answers: request.blanks?.map(answer),
}));
