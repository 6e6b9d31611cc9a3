// The code cells of a notebook, run in the page: Run, Edit, Reset.
//
// A cell that is run needs the names of the cells above it, so those that have not been run are run first,
// in order. Python and matplotlib are loaded by the first Run, never before. A cell that needs a library which the
// page does not have says so and keeps its stored output; the cells below it run.

import { Python, Stopped, editLikeCode, element } from "./exercise.mjs";

const SLOW = 15_000; // ms after which a reader is told why a cell takes so long

const button = (text, label) => element("button", { type: "button", className: "small", textContent: text, ariaLabel: label });

// One code cell: its source as the page shows it, or the text area that takes its place.
class Cell {
  constructor(place, number) {
    this.place = place;
    this.number = number;
    this.source = place.querySelector(".source");
    this.outputs = place.querySelector(".outputs") ?? place.appendChild(element("div", { className: "outputs" }));
    this.stored = [...this.outputs.childNodes];
    this.text = this.source.textContent.replace(/\n$/, "");
    this.run = button("Run", `Run cell ${number}`);
    this.edit = button("Edit", `Edit cell ${number}`);
    this.reset = button("Reset", `Reset cell ${number}`);
    this.reset.hidden = true;
    this.state = element("span", { className: "state", role: "status" });
    this.source.after(element("div", { className: "buttons" }, this.run, this.edit, this.reset, this.state));
    this.edit.onclick = () => this.openEditor();
    this.reset.onclick = () => this.putBack();
  }

  get code() {
    return this.area?.value ?? this.text;
  }

  openEditor() {
    this.area = element("textarea", { spellcheck: false, value: this.text, wrap: "off", rows: this.text.split("\n").length + 1 });
    this.area.setAttribute("aria-label", `Cell ${this.number}: Shift+Enter runs it, Escape and then Tab leaves it`);
    this.area.addEventListener("input", () => (this.area.rows = this.area.value.split("\n").length + 1));
    this.area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey)) return;
      event.preventDefault();
      this.run.click();
    });
    editLikeCode(this.area);
    this.editor = element("div", { className: "editor" }, this.area);
    this.source.hidden = this.edit.hidden = true;
    this.reset.hidden = false;
    this.source.after(this.editor);
    this.area.focus();
  }

  // The source and the outputs as they are stored in the notebook.
  putBack() {
    this.editor?.remove();
    this.editor = this.area = undefined;
    this.source.hidden = this.edit.hidden = false;
    this.reset.hidden = true;
    this.outputs.replaceChildren(...this.stored);
    this.say("");
    this.run.focus();
  }

  say(text) {
    this.state.textContent = text;
  }

  show(outputs) {
    this.reset.hidden = false;
    this.outputs.replaceChildren(...outputs.map((output) =>
      output.image ? element("img", { src: `data:image/png;base64,${output.image}`, alt: output.alt })
      : element("pre", { className: output.error ? "error" : "", tabIndex: 0, textContent: output.error ?? output.text })));
  }
}

function begin(main) {
  const cells = [...main.querySelectorAll(".cell.code")].map((place, i) => new Cell(place, i + 1));
  let done = new Set(), running;
  const python = new Python((text) => running?.say(text), "matplotlib");

  async function ask(cell, quiet) {
    const outputs = await python.ask({ ask: "cell", id: cell.place.id, source: cell.code, quiet });
    const last = outputs.at(-1) ?? {};
    done.add(cell);
    if (last.needs) cell.say(cell.stored.length ? `${last.needs} Its stored output stays.` : last.needs);
    else if (!quiet || last.error) cell.show(outputs);
    return last;
  }

  async function run(cell) {
    if (running) return running === cell ? stop() : cell.say(`Cell ${running.number} is running.`);
    let slow;
    running = cell;
    cell.run.textContent = "Stop";
    cell.place.classList.add("running");
    try {
      const above = cells.slice(0, cells.indexOf(cell)).filter((other) => !done.has(other));
      for (const [i, other] of above.entries()) {
        cell.say(`Running the cells above: ${i + 1} of ${above.length} …`);
        if ((await ask(other, !other.area)).error) cell.note = `Cell ${other.number} above ended with an error.`;
      }
      cell.say("Running …");
      slow = setTimeout(() => cell.say("Running … Python in a page is many times slower than on your machine."), SLOW);
      const began = performance.now(), { needs, error } = await ask(cell, false);
      const took = (performance.now() - began) / 1000;
      if (!needs) cell.say(error && cell.note ? cell.note : took >= 1 ? `${took.toFixed(1)} s` : "Done.");
    } catch (error) {
      cell.say(error instanceof Stopped ? "Stopped. The next Run begins anew." : error.message);
    }
    clearTimeout(slow);
    cell.note = running = undefined;
    cell.run.textContent = "Run";
    cell.place.classList.remove("running");
  }

  function stop() {
    done = new Set();
    python.stop();
  }

  for (const cell of cells) cell.run.onclick = () => run(cell);
}

const main = document.querySelector("main[data-notebook]");
if (main) begin(main);
