// Python in a worker of the page: opened by the first message, one request at a time.
//
// A page sends {ask: "check", ...} and is sent {progress}, {told} and at last {done} or {failed}.
// To stop a loop that does not end, the page ends the worker and starts another one.

const PYTHON = new URL("../python/", import.meta.url);

// Load Pyodide, NumPy and the course. `read` gives the bytes of a file of `folder`, `say` hears what
// is being done. Also called by the tests, under node.
export async function openPython({ folder = PYTHON, read = fetched, say = () => {} } = {}) {
  say({ part: "Python" });
  const { loadPyodide } = await import(new URL("pyodide.mjs", folder).href);
  const indexURL = folder.protocol === "file:" ? decodeURIComponent(folder.pathname) : folder.href;
  const [python, course] = await Promise.all([
    loadPyodide({ indexURL, lockFileURL: indexURL + "pyodide-lock.json", packageBaseUrl: indexURL }),
    read(new URL("course.zip", folder)),
  ]);
  say({ part: "NumPy" });
  await load(python, "numpy");
  say({ part: "the course" });
  python.unpackArchive(course, "zip", { extractDir: "/lib/course" });
  python.runPython(`
import sys
sys.path += ["/lib/course/site-packages", "/lib/course/course"]
sys.path += ["/lib/course/course/" + part for part in (
    "00_foundations", "01_numpy_from_scratch", "04_finetuning", "experiments", "exercises")]
import in_page
`);
  return python;
}

export const load = (python, name) => python.loadPackage(name, { messageCallback() {}, checkIntegrity: true });

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw Error(`${url} could not be loaded (${answer.status})`);
  return answer.arrayBuffer();
}

// --- In the page: answer one message after another -----------------------------------------------

if (globalThis.WorkerGlobalScope) {
  let opening, notebook;
  const open = async (needs) => {
    const python = await openPython({ say: postMessage });
    for (const name of needs) {
      postMessage({ part: name });
      await load(python, name);
    }
    postMessage({ ready: true });
    return python.pyimport("in_page");
  };
  const answers = {
    check(page, { name, code }) {
      const told = (id, outcome) => postMessage({ told: { id, outcome } });
      return JSON.parse(page.check(name, code, told));
    },
    call: (page, { name, code, expression }) => page.call(name, code, expression),
    cell(page, { id, source, quiet }) {
      notebook ??= page.Notebook();
      return JSON.parse(notebook.run(id, source, quiet));
    },
  };
  onmessage = async ({ data }) => {
    try {
      if (data.ask === "open") await (opening = open(data.needs));
      else postMessage({ done: await answers[data.ask](await opening, data) });
    } catch (error) {
      postMessage({ failed: String(error.message ?? error).trim().slice(-2000), fatal: data.ask === "open" });
    }
  };
}
