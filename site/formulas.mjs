// Formulas as HTML: a list of [TeX, displayed] on the standard input, a list of HTML on the output.
import { readFileSync } from "node:fs";
import katex from "katex";

const formulas = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(formulas.map(([tex, displayMode]) => katex.renderToString(tex, { displayMode }))));
