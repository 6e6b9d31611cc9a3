// Grades files under node with the Python of the pages: node grade_in_pyodide.mjs FOLDER < answers > outcomes
//
// A line of input is {"key", "exercise", "text"} as JSON; a line of output is {"key", "seconds", "cpu",
// "outcomes", "printed"}, after one that says how long Python took to get ready. `cpu` are seconds of a
// processor, which other work on the machine does not lengthen. FOLDER is the `python` folder of the site.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { openPython } from "../../site/worker.mjs";

const folder = pathToFileURL(`${process.argv[2].replace(/\/$/, "")}/`);
const began = performance.now();
const cpu = (since = 0) => (process.cpuUsage().user + process.cpuUsage().system) / 1e6 - since;
const python = await openPython({ folder, read: async (url) => new Uint8Array(await readFile(url)).buffer });
const check = python.runPython("in_page.check");
console.log(JSON.stringify({ ready: (performance.now() - began) / 1000, cpu: cpu() }));

for await (const line of createInterface({ input: process.stdin })) {
  const { key, exercise, text } = JSON.parse(line), start = performance.now(), before = cpu(), times = {};
  let last = before;
  const told = (id) => {
    times[id] = cpu(last);
    last = cpu();
  };
  try {
    const found = JSON.parse(check(exercise, text, told));
    console.log(JSON.stringify({ key, seconds: (performance.now() - start) / 1000, cpu: cpu(before), times, ...found }));
  } catch (error) {
    console.log(JSON.stringify({ key, error: String(error.message ?? error).slice(-2000) }));
  }
}
