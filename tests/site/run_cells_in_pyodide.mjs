// Runs the code cells of notebooks under node with the Python of the pages:
// node run_cells_in_pyodide.mjs FOLDER < notebooks > outputs
//
// A line of input is {"path", "cells": [[id, source], ...]} as JSON; a line of output is {"path", "seconds",
// "outputs": [[id, outputs], ...]}. FOLDER is the `python` folder of the built site.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { load, openPython } from "../../site/worker.mjs";

const folder = pathToFileURL(`${process.argv[2].replace(/\/$/, "")}/`);
const python = await openPython({ folder, read: async (url) => new Uint8Array(await readFile(url)).buffer });
await load(python, "matplotlib");

for await (const line of createInterface({ input: process.stdin })) {
  const { path, cells } = JSON.parse(line), start = performance.now();
  const notebook = python.pyimport("in_page").Notebook();
  const outputs = cells.map(([id, source]) => [id, JSON.parse(notebook.run(id, source))]);
  console.log(JSON.stringify({ path, seconds: (performance.now() - start) / 1000, outputs }));
}
