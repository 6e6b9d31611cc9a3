// An exercise, checked in the page: the editor, the checks, the hints; and the board of all exercises.
//
// The reader's code and what was reached stay in this browser (localStorage). Python is loaded when the first key is
// pressed in the editor or Check is called, never before.

const PYTHON = new URL("../python/", import.meta.url);
const INDENT = "    ";

// --- What the reader has written and reached ------------------------------------------------------

const place = (name) => `bert:exercise:${name}`;

export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(place(name))) ?? {};
  } catch {
    return {}; // no storage in this browser, or not ours
  }
}

function keep(name, changes) {
  try {
    localStorage.setItem(place(name), JSON.stringify({ ...kept(name), ...changes }));
    return true;
  } catch {
    return false;
  }
}

// --- Python ---------------------------------------------------------------------------------------

const LOADED = { Python: 0, NumPy: 0.4, "the course": 0.6, matplotlib: 0.8 };

// A worker with Python. `say` hears a sentence for the reader and how far loading is, 0 to 1.
export class Python {
  constructor(say, ...needs) {
    this.say = say;
    this.needs = needs; // packages to load after NumPy
  }

  // Begin to load; nothing happens if that has begun.
  open() {
    if (this.worker) return;
    this.began = performance.now();
    this.worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = (event) => this.heard({ failed: event.message || "Python could not be loaded", fatal: true });
    this.worker.postMessage({ ask: "open", needs: this.needs });
    this.say("Loading Python …", 0);
  }

  heard(data) {
    if (data.part && !this.seconds) return this.say(`Loading ${data.part} …`, LOADED[data.part]);
    if (data.ready) {
      this.seconds = (performance.now() - this.began) / 1000;
      return this.waiting ? this.waiting.begun() : this.say(`Python is ready (${this.seconds.toFixed(0)} s).`);
    }
    const waiting = this.waiting;
    if (data.told) return waiting?.told?.(data.told);
    this.waiting = undefined;
    if (data.fatal) this.stop();
    if ("failed" in data) {
      if (!waiting) this.say(`Python could not be loaded: ${data.failed}`);
      waiting?.reject(Error(data.failed));
    } else waiting?.resolve(data.done);
  }

  // Ask the worker for something, one question at a time. `begun` is called once Python is ready,
  // `told` hears what is known on the way.
  ask(question, { begun = () => {}, told } = {}) {
    if (this.waiting) return Promise.reject(Error("Python is busy: wait, or press Stop."));
    this.open();
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject, begun, told };
      this.worker.postMessage(question);
      if (this.seconds) begun();
    });
  }

  // End whatever runs, a loop without an end too.
  stop() {
    this.worker?.terminate();
    const waiting = this.waiting;
    this.worker = this.waiting = this.seconds = undefined;
    waiting?.reject(new Stopped());
  }
}

export class Stopped extends Error {}

// --- The editor -----------------------------------------------------------------------------------

export const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

// Replace what is selected, so that Ctrl+Z takes it back.
function type(area, text) {
  if (text === "") document.execCommand("delete");
  else if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
}

// Tab and Shift+Tab move the selected lines, Enter keeps the indentation, Escape lets Tab leave.
export function editLikeCode(area) {
  let leaving = false;
  area.addEventListener("blur", () => (leaving = false));
  area.addEventListener("keydown", (event) => {
    const { value, selectionStart: start, selectionEnd: end } = area;
    if (event.key === "Escape") leaving = true;
    else if (event.key === "Tab" && !leaving && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      indent(area, value, start, end, event.shiftKey);
    } else if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
      type(area, "\n" + line.match(/^ */)[0] + (/:\s*$/.test(line) ? INDENT : ""));
    } else if (event.key !== "Shift" && event.key !== "Tab") leaving = false;
  });
}

function indent(area, value, start, end, back) {
  const first = value.lastIndexOf("\n", start - 1) + 1;
  if (start === end && !back) return type(area, INDENT.slice((start - first) % INDENT.length));
  const last = value.indexOf("\n", Math.max(start, end - 1));
  const lines = value.slice(first, last < 0 ? value.length : last);
  const moved = back ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, INDENT);
  if (moved === lines) return;
  area.setSelectionRange(first, first + lines.length);
  type(area, moved);
  const at = Math.max(first, start - (lines.length - moved.length));
  area.setSelectionRange(start === end ? at : first, start === end ? at : first + moved.length);
}

// The numbers of the lines, beside a text area that does not wrap.
function withLineNumbers(area) {
  const numbers = element("pre", { className: "line-numbers", ariaHidden: "true" });
  const count = () => {
    const lines = area.value.split("\n").length;
    if (numbers.dataset.lines !== String(lines)) {
      numbers.textContent = Array.from({ length: lines }, (_, i) => i + 1).join("\n");
      numbers.dataset.lines = lines;
    }
  };
  area.addEventListener("input", count);
  area.addEventListener("scroll", () => (numbers.scrollTop = area.scrollTop));
  return [element("div", { className: "editor" }, numbers, area), count];
}

// --- The page of an exercise ----------------------------------------------------------------------

const PASSED = "passed";
const SIGNS = { passed: "✓", failed: "✗", blocked: "–", "to do": "○", "not run": "○" };
const points = (hundredths) => String(Math.round(hundredths) / 100);
const sentence = (id) => id.replace(/^test_/, "").replaceAll("_", " ");

async function showExercise(main) {
  const name = main.dataset.exercise, section = document.getElementById("exercise");
  if (main.dataset.offered !== "yes") return section.append(...onYourMachine(name));
  const exercise = await (await fetch(new URL(`exercises/${name}.json`, PYTHON))).json();

  const area = element("textarea", { id: "code", spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off" });
  area.setAttribute("autocorrect", "off");
  area.setAttribute("aria-describedby", "editor-help");
  const [editor, count] = withLineNumbers(area);
  const check = element("button", { type: "button", className: "primary", textContent: "Check" });
  const stop = element("button", { type: "button", textContent: "Stop" });
  const hint = element("button", { type: "button", textContent: "Hint" });
  const reset = element("button", { type: "button", textContent: "Reset" });
  const download = element("a", { className: "button", textContent: `Download ${exercise.file}`, download: exercise.file, href: "#" });
  const state = element("p", { className: "state", role: "status" });
  const progress = element("progress", { max: 1, hidden: true, ariaLabel: "Loading Python" });
  const results = element("div", { id: "results" }), hints = element("div", { id: "hints-shown" });
  section.append(
    element("h2", { id: "answer" }, element("label", { htmlFor: "code", textContent: exercise.file })), editor,
    element("p", { id: "editor-help", className: "small", textContent: "Tab indents. To leave the editor with the keyboard, press Escape, then Tab." }),
    element("div", { className: "buttons" }, check, stop, hint, reset, download), state, progress, hints, results,
  );

  const say = (text, part) => {
    state.textContent = text;
    progress.hidden = part === undefined;
    if (part) progress.value = part;
    else progress.removeAttribute("value"); // it moves, and says that something is going on
  };
  const python = new Python(say);
  const write = (text) => { area.value = text; count(); };
  write(kept(name).code ?? exercise.starter);
  say(greeting(exercise, kept(name)));
  editLikeCode(area);
  area.addEventListener("input", () => {
    python.open();
    if (!keep(name, { code: area.value })) say("This browser keeps nothing: download the file before you leave the page.");
  });

  let failed = [];
  // Not `disabled`: a button that is pressed by the keyboard would lose the focus.
  const running = (yes) => {
    check.setAttribute("aria-disabled", yes);
    stop.setAttribute("aria-disabled", !yes);
  };
  running(false);
  const ask = (question, hooks) => {
    running(true);
    return python.ask(question, hooks).finally(() => running(false));
  };
  check.onclick = async () => {
    if (python.waiting) return;
    results.replaceChildren();
    const list = element("ol", { className: "checks" });
    let done = 0, began;
    const count = () => say(`Checking: ${done} of ${exercise.checks.length} …`, done / exercise.checks.length);
    const begun = () => {
      began = performance.now();
      count();
    };
    const told = ({ id, outcome }) => {
      done += 1;
      count();
      list.append(element("li", { className: outcome.replace(" ", "-"), textContent: sentence(id) }));
      if (!list.isConnected) results.append(list);
    };
    try {
      const found = await ask({ ask: "check", name, code: area.value }, { begun, told });
      const worth = worthOf(exercise, found.outcomes);
      say(verdict(exercise, found.outcomes, worth) + ` (${((performance.now() - began) / 1000).toFixed(1)} s)`);
      results.replaceChildren(...shown(exercise, found, (expression) => ask({ ask: "call", name, code: area.value, expression })));
      failed = found.outcomes.filter((o) => o.outcome !== PASSED).map((o) => o.id);
      const passed = found.outcomes.length - failed.length;
      keep(name, { passed, checks: found.outcomes.length, worth, best: Math.max(worth, kept(name).best ?? 0) });
      if (!failed.length) {
        hints.replaceChildren();
        const next = document.querySelector("a[rel=next]");
        if (next) state.append(" ", element("a", { href: next.href, textContent: `Next: ${next.lastChild.textContent.trim()}` }));
      }
    } catch (error) {
      if (error instanceof Stopped) say("Stopped. Python is being loaded again …", 0);
      else say(`The checks could not run: ${error.message}`);
    }
  };
  stop.onclick = () => {
    if (!python.waiting) return;
    python.stop();
    python.open();
  };
  reset.onclick = () => {
    if (area.value === exercise.starter || !confirm("Replace your code by the starter? What you wrote is lost.")) return;
    write(exercise.starter);
    keep(name, { code: undefined });
    say("The editor holds the starter again.");
  };
  download.onclick = () => {
    download.href = URL.createObjectURL(new Blob([area.value], { type: "text/x-python" }));
  };
  hint.onclick = () => showHint(exercise, hints, failed, say);
  oneHintAtATime();
}

function onYourMachine(name) {
  return [
    element("h2", { textContent: "On your machine" }),
    element("p", { textContent: "This exercise needs libraries that do not run in a browser. In your copy of the course, edit the file and call:" }),
    element("pre", { tabIndex: 0 }, element("code", { textContent: `pytest exercises/${name}` })),
  ];
}

const greeting = (exercise, before) =>
  before.checks ? `Last time: ${before.passed} of ${before.checks} checks.`
  : before.code ? "Your code is as you left it."
  : `Write your answer here, then press Check. Python (about 18 MB, the first time) is loaded when you begin${exercise.seconds >= 3 ? `, and a check takes about ${exercise.seconds} seconds` : ""}.`;

const worthOf = (exercise, outcomes) => {
  const passed = new Set(outcomes.filter((o) => o.outcome === PASSED).map((o) => o.id));
  return exercise.checks.reduce((sum, c) => sum + (passed.has(c.id) ? c.worth : 0), 0);
};

function verdict(exercise, outcomes, worth) {
  const passed = outcomes.filter((o) => o.outcome === PASSED).length;
  if (passed === outcomes.length) return `All ${passed} checks pass: ${points(worth)} points. Well done!`;
  return `${passed} of ${outcomes.length} checks pass: ${points(worth)} of ${exercise.points} points.`;
}

// The checks in order, with the grader's messages; one message that all share is shown once.
function shown(exercise, { outcomes, printed }, run) {
  const messages = new Set(outcomes.map((o) => o.message)), parts = [];
  const shared = outcomes.length > 1 && messages.size === 1 && outcomes[0].message;
  if (shared) parts.push(...message(shared, run));
  parts.push(element("ol", { className: "checks" }, ...outcomes.map((o) => {
    const item = element("li", { className: o.outcome.replace(" ", "-") });
    item.append(element("span", { className: "sign", textContent: SIGNS[o.outcome] ?? "✗", ariaHidden: "true" }),
      element("span", { className: "name", textContent: sentence(o.id) }),
      element("span", { className: "outcome", textContent: o.outcome }));
    if (o.message && !shared) item.append(...message(o.message, run));
    return item;
  })));
  if (printed) parts.push(element("h3", { textContent: "Printed by your code" }), element("pre", { className: "printed", tabIndex: 0, textContent: printed }));
  return parts;
}

// A message, its likely mistake set apart; the call to try gets a button. A command that only a
// copy of the course knows is left out.
function message(text, run) {
  const [told, tried = ""] = text.split("\n  to try it: ");
  const [what, likely] = told.split("\n  likely mistake: ");
  const parts = [element("pre", { className: "message", tabIndex: 0, textContent: what })];
  if (likely) parts.push(element("p", { className: "likely" }, element("strong", { textContent: "Likely mistake: " }), likely));
  if (tried && !tried.startsWith("python -m ")) {
    const out = element("pre", { className: "printed", hidden: true, tabIndex: 0 });
    const button = element("button", { type: "button", className: "small", textContent: "Run this call" });
    button.onclick = async () => {
      out.hidden = false;
      out.textContent = "…";
      out.textContent = await run(tried).catch((error) => error.message || "Stopped.");
    };
    parts.push(element("div", { className: "try" }, element("pre", { tabIndex: 0, textContent: tried }), button), out);
  }
  return parts;
}

// --- Hints ----------------------------------------------------------------------------------------

const hintsOfPage = () => {
  const found = [];
  let next = document.getElementById("hints")?.nextElementSibling;
  for (; next && !/^H[12]$/.test(next.tagName); next = next.nextElementSibling) if (next.tagName === "DETAILS") found.push(next);
  return found;
};

// In the README each hint appears when the one before it is opened.
function oneHintAtATime() {
  const all = hintsOfPage();
  all.forEach((details, i) => {
    details.hidden = i > 0 && !all[i - 1].open;
    details.addEventListener("toggle", () => { if (details.open && all[i + 1]) all[i + 1].hidden = false; });
  });
}

// The next hint beside the editor: one for a check that fails, if there is one, else the next in order.
function showHint(exercise, box, failed, say) {
  const all = hintsOfPage(), seen = new Set([...box.children].map((child) => Number(child.dataset.hint)));
  const fitting = exercise.checks.filter((c) => c.hint && failed.includes(c.id)).map((c) => c.hint);
  const next = [...fitting, ...all.map((_, i) => i + 1)].find((n) => n <= all.length && !seen.has(n));
  if (!next) return say("There are no more hints.");
  const copy = all[next - 1].cloneNode(true);
  copy.hidden = false;
  copy.open = true;
  copy.dataset.hint = next;
  box.append(copy);
  copy.querySelector("summary").focus();
}

// --- The board ------------------------------------------------------------------------------------

async function showBoard(section) {
  const exercises = await (await fetch(new URL("exercises.json", PYTHON))).json();
  const best = (e) => kept(e.name).best ?? 0;
  const sum = exercises.reduce((all, e) => all + best(e), 0), done = exercises.filter((e) => best(e) >= 100 * e.points).length;
  const rows = exercises.map((e) => {
    const state = !e.offered ? "on your machine" : best(e) >= 100 * e.points ? "done" : kept(e.name).code ? "begun" : "to do";
    return element("tr", { className: state.replaceAll(" ", "-") },
      element("th", { scope: "row" }, element("a", { href: `${e.name}/index.html`, textContent: e.title })),
      element("td", { textContent: e.offered ? `${points(best(e))} of ${e.points}` : `${e.points}` }),
      element("td", { textContent: { done: "✓ done", begun: "begun" }[state] ?? state }));
  });
  const forget = element("button", { type: "button", textContent: "Forget all" });
  forget.onclick = () => {
    if (!confirm("Forget your code and your points of every exercise in this browser?")) return;
    for (const e of exercises) localStorage.removeItem(place(e.name));
    location.reload();
  };
  section.append(
    element("h2", { id: "progress", textContent: "Your progress" }),
    element("p", { textContent: `${done} of ${exercises.length} exercises done, ${points(sum)} of 100 points. Kept in this browser only.` }),
    element("p", { textContent: "The exercises marked “on your machine” need libraries that do not run in a browser. You can solve all others in their pages, with nothing to install." }),
    element("progress", { max: 100, value: sum / 100, ariaLabel: "Points" }),
    element("div", { className: "scrolls", tabIndex: 0, role: "region", ariaLabel: "Your progress" }, element("table", {},
      element("thead", {}, element("tr", {}, ...["exercise", "points", "state"].map((t) => element("th", { scope: "col", textContent: t })))),
      element("tbody", {}, ...rows))),
    element("p", {}, forget),
  );
}

if (globalThis.document) {
  const main = document.querySelector("main[data-exercise]"), board = document.getElementById("board");
  if (main) showExercise(main);
  if (board) showBoard(board);
}
