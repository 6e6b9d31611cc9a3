// The page "Ask BERT", and its small form on the start page. bert.mjs computes; here it is shown.

import { basicTokens, bertForward, best, encode, makeBert, mlmHead, nspHead, readSafetensors, softmax } from "./bert.mjs";

const MODEL = new URL("../model/", import.meta.url);
const SHOWN_WORDS = 5;
const EXAMPLES = [
  { a: "A grey crane stood on one leg among the reeds.", hide: "crane" },
  { a: "The food was delicious, but the service was terrible.", hide: "delicious" },
  { a: "With its long beak the crane caught a little frog.", hide: "beak" },
  { a: "Paris is the capital of France.", hide: "capital" },
  {
    a: "Martha Bell sent Ella Mason to the shop with a list.",
    b: "On the way Ella repeated: seven potatoes and a cushion.",
    hide: "ella",
  },
  {
    a: "Martha Bell sent Ella Mason to the shop with a list.",
    b: "Then Edward filed the nails on both hands.",
    hide: "nails",
  },
];
const CRANES = ["The crane lifted the steel beam.", "The crane caught a little frog.", "I saw a crane."];

const $ = (id) => document.getElementById(id);
const percent = (p) => (p < 0.001 ? "< 0.1%" : `${(100 * p).toFixed(p > 0.9995 ? 0 : 1)}%`);
const thousands = (number) => number.toLocaleString("en-US");

/** An HTML element: `element("td", { class: "word" }, "crane")`; a function is a listener. */
function element(tag, attributes = {}, ...children) {
  return withParts(document.createElement(tag), attributes, children);
}

function drawing(tag, attributes = {}, ...children) {
  return withParts(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function withParts(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Replace what is in a box; the focus stays on the part with the same `data-key`. */
function fill(box, ...children) {
  const key = box.contains(document.activeElement) && document.activeElement.dataset.key;
  box.replaceChildren(...children);
  if (key) box.querySelector(`[data-key="${key}"]`)?.focus();
}

// --- The model's files ---

class Missing extends Error {}

const inWords = (error) =>
  error instanceof Missing ? error.message : `The model could not be used: ${error.message}`;

const arrived = (part) => `Loading the model, 2 MB: ${Math.round(100 * part)}%`;

async function fetched(name) {
  const answer = await fetch(new URL(name, MODEL)).catch(() => null);
  if (!answer?.ok) {
    throw new Missing(answer?.status === 404
      ? "This copy of the site was built without a model. Call make demo, then make site."
      : "The model could not be loaded. Check your connection, then load the page again.");
  }
  return answer;
}

/** The bytes of a file; `progress` is called with the fraction that has arrived. */
async function bytesOf(name, progress = () => {}) {
  const answer = await fetched(name), total = Number(answer.headers.get("content-length"));
  const chunks = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(chunks).arrayBuffer();
    chunks.push(value);
    if (total) progress(Math.min(1, (size += value.length) / total));
  }
}

async function load(progress) {
  const [config, vocab, about] = await Promise.all([
    fetched("config.json").then((answer) => answer.json()),
    fetched("vocab.txt").then((answer) => answer.text()),
    fetched("about.json").then((answer) => answer.json()),
  ]);
  const weights = readSafetensors(await bytesOf("model.safetensors", progress));
  return { about, bert: makeBert(config, vocab, weights, about) };
}

/** A row of a table: a word, its probability, a bar. */
function barRow(word, probability, { isMarked = false, note = "" } = {}) {
  const head = element("th", { scope: "row" }, word, ...(note ? [" ", element("small", {}, note)] : []));
  const bar = element("span", { class: "ask-bar", style: `inline-size:${(100 * probability).toFixed(2)}%` });
  return element("tr", { class: isMarked ? "ask-marked" : null }, head,
    element("td", { class: "ask-percent" }, percent(probability)), element("td", { "aria-hidden": "true" }, bar));
}

function barTable(caption, ...rows) {
  return element("table", { class: "ask-bars" }, element("caption", {}, ...caption), ...rows);
}

/** The most likely words with bars; the word whose id is `marked` gets a note, whatever its rank. */
function wordBars(bert, probabilities, caption, { marked = null, note = "" } = {}) {
  const words = best(bert, probabilities, SHOWN_WORDS);
  const rows = words.map(({ id, token, probability }) =>
    barRow(token, probability, id === marked ? { isMarked: true, note: `✓ ${note}` } : {}));
  if (marked !== null && !words.some(({ id }) => id === marked)) {
    const own = probabilities[marked], rank = 1 + probabilities.reduce((count, p) => count + (p > own), 0);
    rows.push(barRow(bert.tokens[marked], own, { isMarked: true, note: `${note}, number ${thousands(rank)}` }));
  }
  return barTable(caption, ...rows);
}

// --- The page ---

class Page {
  hidden = new Set(); // positions of the tokens that are hidden
  off = new Set(); // heads that are switched off, such as "0.3"
  head = "0.0"; // the head whose lines are shown
  looking = null; // the position of the token whose lines are shown; null: of all

  constructor({ about, bert }) {
    Object.assign(this, { about, bert, trained: bert });
    this.maskId = bert.vocabulary.get("[MASK]");
    this.training = new Training(this);
    $("ask-status").remove();
    for (const example of EXAMPLES) {
      const label = [example.a, example.b].filter(Boolean).join(" / ");
      document.querySelector(".ask-input .ask-examples").append(
        element("button", { type: "button", click: () => this.show(example) }, label));
    }
    for (const name of ["ask-a", "ask-b"]) $(name).addEventListener("input", () => this.read());
    for (const event of ["input", "change", "click"]) $("ask").addEventListener(event, () => this.remember());
    $("ask-swap").addEventListener("click", () => this.show({ a: $("ask-b").value, b: $("ask-a").value }));
    $("ask-all-on").addEventListener("click", () => {
      this.off.clear();
      this.update();
      $("ask-maps").querySelector("input").focus(); // the button itself can no longer be pressed
    });
    const redraw = () => this.drawMaps();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    window.addEventListener("hashchange", () => this.open());
    this.show(EXAMPLES[0]);
    this.open();
  }

  /** Take over a text, with one word of it hidden. */
  show({ a, b = "", hide = null }) {
    [$("ask-a").value, $("ask-b").value] = [a, b];
    this.text = null;
    this.hidden.clear();
    this.read(hide);
  }

  /** Take over what the address of the page says, such as `#a=The+crane+stood.&hide=2&off=0.1,1.3`. */
  open() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("a")) return;
    this.show({ a: given.get("a"), b: given.get("b") ?? "" });
    const listed = (name) => (given.get(name) ?? "").split(",");
    this.hidden = new Set(listed("hide").map(Number).filter((position) => this.canHide(position)));
    this.off = new Set(listed("off").filter((name) => this.heads.includes(name)));
    this.looking = undefined;
    this.update();
  }

  /** Keep the address of the page in step, so that it can be sent to others. */
  remember() {
    const said = { a: $("ask-a").value, b: $("ask-b").value, hide: [...this.hidden].join(), off: [...this.off].join() };
    const parts = Object.entries(said).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(parts)}`);
  }

  get heads() {
    return this.attention.flatMap((layer, number) => layer.map((_, head) => `${number}.${head}`));
  }

  canHide(position) {
    return !["[CLS]", "[SEP]", "[MASK]", undefined].includes(this.text.tokens[position]);
  }

  /** Read both fields. Tokens before and after the place that was edited stay hidden. */
  read(hide = null) {
    let text;
    try {
      text = encode(this.bert, $("ask-a").value, $("ask-b").value);
    } catch (error) {
      return this.say(error.message, $("ask-answers"));
    }
    const before = this.text?.tokens ?? [], after = text.tokens;
    let same = 0, sameAtEnd = 0;
    while (same < before.length && before[same] === after[same]) same++;
    const most = Math.min(before.length, after.length) - same;
    while (sameAtEnd < most && before.at(-1 - sameAtEnd) === after.at(-1 - sameAtEnd)) sameAtEnd++;
    const moved = [...this.hidden].flatMap((position) => {
      if (position < same) return [position];
      return position >= before.length - sameAtEnd ? [position + after.length - before.length] : [];
    });
    this.hidden = new Set(hide ? [after.lastIndexOf(hide)] : moved);
    this.hidden.delete(-1);
    this.text = text;
    this.looking = undefined; // as if never chosen: the first blank
    this.update();
  }

  /** Compute everything once more, and show it. */
  update() {
    const { bert, text, hidden } = this;
    this.inputIds = text.inputIds.map((id, position) => (hidden.has(position) ? this.maskId : id));
    this.shown = this.inputIds.map((id) => bert.tokens[id]);
    this.blanks = [...this.inputIds.keys()].filter((position) => this.inputIds[position] === this.maskId);
    const { states, attention } = bertForward(bert, { ...text, inputIds: this.inputIds }, this.off);
    this.attention = attention;
    this.words = states.map((layer) => mlmHead(bert, layer, this.blanks).map(softmax)); // [layer][blank]
    this.follows = softmax(nspHead(bert, states.at(-1)))[0];
    if (this.looking === undefined || this.looking >= text.tokens.length) this.looking = this.blanks[0] ?? null;
    this.showTokens();
    this.showAnswers();
    this.showLens();
    this.showPair();
    this.showMaps();
    this.showLines();
    this.training.drawSoon();
    this.speak();
  }

  toggle(position) {
    this.hidden.has(position) ? this.hidden.delete(position) : this.hidden.add(position);
    if (this.hidden.has(position)) this.looking = position;
    this.update();
  }

  showTokens() {
    const { tokens, tokenTypeIds } = this.text;
    const parts = tokens.map((token, position) => {
      const classes = ["ask-token", tokenTypeIds[position] ? "ask-second" : ""];
      if (!this.canHide(position)) {
        return element("span", { class: `ask-token ${token === "[MASK]" ? "ask-blank" : "ask-special"}` }, token);
      }
      const isHidden = this.hidden.has(position);
      if (isHidden) classes.push("ask-blank");
      return element("button", {
        type: "button", class: classes.join(" "), "data-key": position, "aria-pressed": String(isHidden),
        "aria-label": `${token}${isHidden ? ", hidden" : ""}`, click: () => this.toggle(position),
      }, isHidden ? element("s", {}, token) : token);
    });
    fill($("ask-tokens"), ...parts);
  }

  /** What stood at a blank: a token, or null if the blank was typed. */
  hiddenToken(position) {
    return this.hidden.has(position) ? this.text.tokens[position] : null;
  }

  caption(number) {
    const token = this.hiddenToken(this.blanks[number]);
    const which = this.blanks.length > 1 ? `Blank ${number + 1}` : "The blank";
    return token ? [`${which}, instead of `, element("em", {}, token)] : [which];
  }

  showAnswers() {
    if (!this.blanks.length) {
      return this.say("Nothing is hidden. Choose a word above, or type [MASK] in its place.", $("ask-answers"));
    }
    const tables = this.words.at(-1).map((probabilities, number) => {
      const token = this.hiddenToken(this.blanks[number]);
      const marked = token === null ? null : this.text.inputIds[this.blanks[number]];
      return wordBars(this.bert, probabilities, this.caption(number), { marked, note: "hidden here" });
    });
    fill($("ask-answers"), ...tables);
  }

  showLens() {
    if (!this.blanks.length) return this.say("Nothing is hidden.", $("ask-lens"));
    const names = ["embeddings", ...this.attention.map((_, layer) => `layer ${layer}`)];
    const head = () => element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
    const cell = ({ token, probability }) => element("td", { style: `--share:${(100 * probability).toFixed(1)}%` },
      element("span", {}, token), element("small", {}, percent(probability)));
    const tables = this.blanks.map((_, number) => {
      const columns = this.words.map((layer) => best(this.bert, layer[number], 3));
      const rows = [0, 1, 2].map((rank) => element("tr", {}, ...columns.map((words) => cell(words[rank]))));
      return element("table", { class: "ask-lens" }, element("caption", {}, ...this.caption(number)),
        element("thead", {}, head()), element("tbody", {}, ...rows));
    });
    fill($("ask-lens"), ...tables);
  }

  showPair() {
    const isPair = this.text.tokenTypeIds.includes(1);
    $("ask-swap").hidden = !isPair;
    if (!isPair) {
      return this.say("Write a second sentence, and BERT predicts whether it came right after the first.", $("ask-pair"));
    }
    fill($("ask-pair"), barTable(["Did the second sentence come right after the first?"],
      barRow("yes", this.follows, { isMarked: this.follows > 0.5 }),
      barRow("no", 1 - this.follows, { isMarked: this.follows <= 0.5 })));
  }

  showMaps() {
    $("ask-maps").style.setProperty("--heads", this.bert.config.num_attention_heads);
    const cards = this.heads.map((name) => {
      const [layer, head] = name.split("."), says = `layer ${layer}, head ${head}`, isOn = !this.off.has(name);
      const map = element("button", {
        type: "button", class: "ask-map", "data-key": `map ${name}`, "aria-pressed": String(name === this.head),
        "aria-label": `${says}: show its lines`, click: () => { this.head = name; this.showMaps(); this.showLines(); },
      }, element("canvas", { "data-head": name }));
      const box = element("input", {
        type: "checkbox", role: "switch", checked: isOn, "data-key": `on ${name}`, "aria-label": `${says} is on`,
        change: ({ target }) => { target.checked ? this.off.delete(name) : this.off.add(name); this.update(); },
      });
      return element("div", { class: isOn ? "ask-head" : "ask-head ask-off" }, map,
        element("label", {}, box, ` ${layer}.${head} ${isOn ? "on" : "off"}`));
    });
    fill($("ask-maps"), ...cards);
    $("ask-all-on").disabled = this.off.size === 0;
    this.drawMaps();
  }

  drawMaps() {
    const seq = this.text.tokens.length;
    for (const canvas of $("ask-maps").querySelectorAll("canvas")) {
      const [layer, head] = canvas.dataset.head.split("."), weights = this.attention[layer][head];
      canvas.width = canvas.height = seq;
      const context = canvas.getContext("2d");
      context.fillStyle = getComputedStyle(canvas).color;
      weights.forEach((weight, at) => {
        context.globalAlpha = Math.sqrt(weight); // small weights can be seen, too
        context.fillRect(at % seq, Math.floor(at / seq), 1, 1);
      });
    }
  }

  showLines() {
    const [layer, head] = this.head.split("."), weights = this.attention[layer][head], seq = this.shown.length;
    const { looking, shown } = this, isOff = this.off.has(this.head);
    $("ask-head-name").textContent = `Layer ${layer}, head ${head}${isOff ? " (switched off)" : ""}`;
    const lines = [];
    weights.forEach((weight, at) => {
      const [query, key] = [Math.floor(at / seq), at % seq];
      if (weight < 0.02 || (looking !== null && looking !== query)) return;
      lines.push(drawing("line", { x1: 0, x2: 100, y1: query + 0.5, y2: key + 0.5, "stroke-width": 1 + 7 * weight,
                                   "stroke-opacity": 0.15 + 0.85 * weight, "vector-effect": "non-scaling-stroke" }));
    });
    const left = shown.map((token, query) => element("button", {
      type: "button", class: token === "[MASK]" ? "ask-blank" : null, "data-key": `look ${query}`,
      "aria-pressed": String(query === looking), "aria-label": `${token} looks`,
      click: () => { this.looking = this.looking === query ? null : query; this.showLines(); },
    }, token));
    const right = shown.map((token, key) => {
      const weight = looking === null ? null : weights[looking * seq + key];
      return element("span", { class: token === "[MASK]" ? "ask-blank" : null, style: `--share:${100 * (weight ?? 0)}%` },
        token, weight === null || weight < 0.02 ? "" : element("small", {}, ` ${percent(weight)}`));
    });
    fill($("ask-lines"), element("div", { role: "group", "aria-label": "Tokens that look" }, ...left),
      drawing("svg", { viewBox: `0 0 100 ${seq}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...lines),
      element("div", { "aria-hidden": "true" }, ...right));
    $("ask-lines-said").textContent = looking === null
      ? "The lines of all tokens. Choose a token on the left to see its own."
      : `${shown[looking]} looks at ${this.largest(weights, looking)}. Choose it again to see the lines of all tokens.`;
  }

  /** The tokens that one token looks at most, in words. */
  largest(weights, query) {
    const seq = this.shown.length, row = weights.subarray(query * seq, (query + 1) * seq);
    const keys = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3);
    return keys.map((key) => `${this.shown[key]} (${percent(row[key])})`).join(", ");
  }

  say(message, box) {
    fill(box, element("p", { class: "ask-hint" }, message));
  }

  /** Tell a screen reader what has changed, once the reader stops typing. */
  speak() {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => {
      const said = this.blanks.map((_, number) => best(this.bert, this.words.at(-1)[number], 3)
        .map(({ token, probability }) => `${token} ${percent(probability)}`).join(", "));
      $("ask-said").textContent = said.map((words, number) => `Blank ${number + 1}: ${words}.`).join(" ");
    }, 500);
  }
}

// --- The slider over training ---

class Training {
  loaded = new Map(); // models by the index of their snapshot

  constructor(page) {
    this.page = page;
    this.snapshots = page.about.snapshots;
    const last = this.snapshots.length - 1;
    if (last < 1) return; // the section stays hidden
    this.loaded.set(last, page.trained);
    this.chosen = last;
    $("ask-training").hidden = false;
    Object.assign($("ask-step"), { min: 0, max: last, value: last });
    $("ask-step").addEventListener("input", () => this.choose(Number($("ask-step").value)));
    $("ask-load-all").addEventListener("click", () => this.loadAll());
    this.label();
  }

  async model(index) {
    if (!this.loaded.has(index)) {
      const weights = readSafetensors(await bytesOf(this.snapshots[index].file));
      this.loaded.set(index, { ...this.page.trained, weights });
    }
    return this.loaded.get(index);
  }

  async choose(index) {
    this.chosen = index;
    this.label(this.loaded.has(index) ? "" : "loading …");
    try {
      const model = await this.model(index);
      if (this.chosen !== index) return; // the slider has moved on
      this.page.bert = model;
      this.label();
      this.page.update();
    } catch (error) {
      this.label(error.message);
    }
  }

  async loadAll() {
    $("ask-load-all").disabled = true;
    for (const index of this.snapshots.keys()) {
      try {
        await this.model(index);
      } catch (error) {
        $("ask-load-all").disabled = false;
        return this.label(error.message);
      }
      this.draw();
    }
    this.label();
  }

  label(note = "") {
    const { step } = this.snapshots[this.chosen], says = `${thousands(step)} of ${thousands(this.snapshots.at(-1).step)}`;
    $("ask-step-shown").textContent = note ? `${says} · ${note}` : says;
    $("ask-step").setAttribute("aria-valuetext", `step ${says}`);
    const missing = this.snapshots.length - this.loaded.size;
    $("ask-load-all").hidden = missing === 0;
    $("ask-load-all").textContent = `Load all other steps (${2 * missing} MB) and draw the curves`;
  }

  /** Draw once the reader stops typing: each curve needs a forward pass of every loaded model. */
  drawSoon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.draw(), this.loaded.size > 2 ? 200 : 0);
  }

  /** How likely the words of the final answer were, for the first blank, at the steps that are loaded. */
  draw() {
    const { blanks, text, inputIds, trained, off } = this.page;
    if (this.snapshots.length < 2) return;
    if (!blanks.length || this.loaded.size < 2) return fill($("ask-curve"));
    const probabilities = (bert) =>
      softmax(mlmHead(bert, bertForward(bert, { ...text, inputIds }, off).states.at(-1), [blanks[0]])[0]);
    const found = [...this.loaded.keys()].sort((a, b) => a - b)
      .map((index) => ({ index, step: this.snapshots[index].step, p: probabilities(this.loaded.get(index)) }));
    const words = best(trained, found.at(-1).p, 3), last = this.snapshots.length - 1;
    const x = (index) => (100 * index) / last, y = (p) => 100 * (1 - p); // in percent of the picture
    const thin = { "vector-effect": "non-scaling-stroke" };
    const level = (y) => drawing("line", { x1: 0, x2: 100, y1: y, y2: y, class: "ask-grid", ...thin });
    const now = drawing("line", { x1: x(this.chosen), x2: x(this.chosen), y1: 0, y2: 100, class: "ask-now", ...thin });
    const curve = ({ id }, rank) => drawing("polyline", {
      class: `ask-curve-${rank}`, points: found.map(({ index, p }) => `${x(index)},${y(p[id])}`).join(" "), ...thin,
    });
    const dots = ({ id }, rank) => found.map(({ index, p }) =>
      element("i", { class: `ask-curve-${rank}`, style: `left:${x(index)}%;top:${y(p[id])}%` }));
    const at = (id) => found.map(({ step, p }) => `${percent(p[id])} at step ${step}`).join(", ");
    const says = words.map(({ id, token }) => `${token}: ${at(id)}`).join("; ");
    fill($("ask-curve"),
      element("ul", { class: "ask-key" }, ...words.map(({ token }, rank) =>
        element("li", { class: `ask-curve-${rank}` }, `${"●▲■"[rank]} ${token}`))),
      element("div", { class: "ask-plot", role: "img", "aria-label": `Probability over training. ${says}.` },
        drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none" },
          ...[0, 50, 100].map(level), now, ...words.map(curve)),
        ...words.flatMap(dots), element("b", { style: "top:0" }, "100%"), element("b", { style: "top:100%" }, "0%")));
  }
}

// --- Two cranes ---

class Cranes {
  constructor(bert, { word, layers }) {
    Object.assign(this, { bert, word, layers, layer: layers.length - 1 });
    this.senses = Object.keys(layers[0].points);
    $("ask-cranes").hidden = false;
    const names = ["the embeddings", ...layers.slice(1).map((_, number) => `layer ${number}`)];
    $("ask-layers").append(...names.map((name, layer) => element("label", {},
      element("input", { type: "radio", name: "ask-layer", value: layer, checked: layer === this.layer,
                         change: () => { this.layer = layer; this.update(); } }), ` ${name}`)));
    const examples = document.querySelector("#ask-cranes .ask-examples");
    examples.append(...CRANES.map((text) =>
      element("button", { type: "button", click: () => { $("ask-crane").value = text; this.update(); } }, text)));
    $("ask-crane").addEventListener("input", () => this.update());
    this.drawOnce();
    this.update();
  }

  drawOnce() {
    this.marks = this.senses.map((sense, number) => this.layers[0].points[sense].map(() =>
      number === 0 ? drawing("circle", { r: 1.1, class: "ask-sense-0" })
                   : drawing("path", { d: "M0-1.4L1.3 .9H-1.3Z", class: "ask-sense-1" })));
    const middle = drawing("path", { d: "M0-40V40", class: "ask-grid" });
    this.own = drawing("g", { class: "ask-own" });
    const key = element("ul", { class: "ask-key" }, ...this.senses.map((sense, number) =>
      element("li", { class: `ask-sense-${number}` }, `${"●▲"[number]} ${this.word}, the ${sense}`)),
      element("li", { class: "ask-own" }, "★ yours"));
    $("ask-clouds").append(key, drawing("svg", { viewBox: "-52 -40 104 80", role: "img", "aria-label":
      `${this.marks[0].length} times ${this.senses[0]}, ${this.marks[1].length} times ${this.senses[1]}, each a dot` },
      middle, ...this.marks.flat(), this.own));
  }

  update() {
    const { center, directions, points } = this.layers[this.layer];
    const widest = Math.max(1.2, ...this.senses.flatMap((sense) => points[sense].map(([x]) => Math.abs(x))));
    const highest = Math.max(...this.senses.flatMap((sense) => points[sense].map(([, y]) => Math.abs(y))));
    const within = (value, most) => Math.max(-1.04, Math.min(1.04, value / most)); // a dot outside stands at the edge
    const place = ([x, y]) =>
      `translate(${(48 * within(x, widest)).toFixed(2)}px,${(-34 * within(y, highest)).toFixed(2)}px)`;
    this.senses.forEach((sense, number) =>
      points[sense].forEach((point, at) => (this.marks[number][at].style.transform = place(point))));
    const own = this.vectors().map((vector) =>
      directions.map((direction) => direction.reduce((sum, d, i) => sum + d * (vector[i] - center[i]), 0)));
    this.own.replaceChildren(...own.map((point) => {
      const star = drawing("text", { "text-anchor": "middle", y: 2.8 }, "★");
      star.style.transform = place(point);
      return star;
    }));
    $("ask-crane-said").textContent = own.length ? this.verdict(own[0][0])
      : `There is no ${this.word} in your sentence: write one with the word ${this.word}.`;
  }

  /** The vector of every crane in the visitor's sentence, after the chosen layer. */
  vectors() {
    let text;
    try {
      text = encode(this.bert, $("ask-crane").value);
    } catch {
      return [];
    }
    const states = bertForward(this.bert, text).states[this.layer], hidden = this.bert.config.hidden_size;
    return [...text.tokens.keys()].filter((position) => text.tokens[position] === this.word)
      .map((position) => states.subarray(position * hidden, (position + 1) * hidden));
  }

  verdict(x) {
    const [first, second] = this.senses;
    if (this.layer === 0) {
      return `Before the first layer the vector of ${this.word} depends on its position alone: ` +
        `${first}s and ${second}s coincide.`;
    }
    return `Your ${this.word} is on the side of the ${x > 0 ? first : second}s: at ${x.toFixed(2).replace("-", "−")}, ` +
      `where −1 is the mean of the ${second}s and 1 the mean of the ${first}s.`;
  }
}

// --- The small form: one blank, before anything is loaded ---

function small(box) {
  const guess = element("input", {
    type: "text", id: "ask-guess", size: 8, autocomplete: "off", autocapitalize: "none", "aria-label": "The missing word",
  });
  const button = element("button", { class: "primary" }, "Compare with BERT");
  const result = element("div", { role: "status" });
  const [before, after] = EXAMPLES[0].a.split(EXAMPLES[0].hide);
  let model;
  async function compare(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      model ??= await load((part) => (result.textContent = arrived(part)));
      const { bert } = model, text = encode(bert, `${before}[MASK]${after}`);
      const { states } = bertForward(bert, text);
      const probabilities = softmax(mlmHead(bert, states.at(-1), [text.tokens.indexOf("[MASK]")])[0]);
      const word = basicTokens(guess.value, bert.lowercase).join(""), marked = bert.vocabulary.get(word) ?? null;
      const unknown = word && marked === null ? `This small BERT has never read “${word}”.` : "";
      fill(result, wordBars(bert, probabilities, ["BERT says"], { marked, note: "your word" }),
        ...(unknown ? [element("p", { class: "ask-hint" }, unknown)] : []),
        element("p", {}, "It runs in your browser. ",
          element("a", { href: new URL("../ask.html", import.meta.url) }, "Ask it more"), "."));
    } catch (error) {
      result.textContent = inWords(error);
    }
    button.disabled = false;
  }
  box.setAttribute("aria-label", "Fill a blank");
  box.append(element("form", { submit: compare }, element("p", {}, element("strong", {}, "Which word is missing?")),
    element("p", { class: "ask-question" }, before, guess, after, " ", button)), result,
    element("p", { class: "ask-hint" }, "Or write a part of BERT yourself, here in your browser: ",
      element("a", { href: new URL("../exercises/03_softmax/index.html", import.meta.url) }, "a first exercise"), "."));
}

// --- Start ---

async function start() {
  try {
    const model = await load((part) => ($("ask-status").textContent = arrived(part)));
    new Page(model);
    if (model.about.cranes) new Cranes(model.bert, await (await fetched("cranes.json")).json());
    $("ask").dataset.ready = "";
  } catch (error) {
    const status = $("ask-status") ?? $("ask").appendChild(element("p", { role: "status" }));
    status.textContent = inWords(error);
    if (!(error instanceof Missing)) throw error;
  }
}

if ($("ask-small")) small($("ask-small"));
if ($("ask")) start();
