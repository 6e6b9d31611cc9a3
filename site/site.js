// What every page can do: search, dark and light, the menu on a phone, words of the glossary.

const root = new URL("../", import.meta.url);
const query = document.getElementById("query");
const found = document.getElementById("found");

// Search: every word must begin a word of the section. Titles and headings count most, and words
// that stand together as they were typed.

let sections; // a promise: typing while it loads asks for it once

const load = () => (sections ??= fetch(new URL("search.json", root)).then((answer) => answer.json()));

const count = (text, pattern) => (text.match(new RegExp(pattern, "giu")) ?? []).length;

function score([address, title, heading, text], words, phrase) {
  let sum = 0;
  for (const word of words) {
    const times = count(text, word);
    if (!word.test(title) && !word.test(heading) && !times) return 0;
    sum += 15 * word.test(title) + 20 * word.test(heading) + Math.min(times, 5);
  }
  if (phrase.test(title)) sum += heading ? 20 : 90;
  if (phrase.test(heading)) sum += 50 + 60 * (heading.length < query.value.length + 3);
  sum += 2 * Math.min(count(text, phrase), 10);
  return /^(\d\d_|exercises\/\d|GLOSSARY)/.test(address) ? sum : sum / 2; // the course before what is about it
}

function excerpt(text, word) {
  const at = Math.max(0, text.search(word) - 50);
  const piece = document.createElement("small");
  const shown = (at ? "… " : "") + text.slice(at, at + 140);
  const hit = shown.match(word);
  if (!hit) piece.append(shown);
  else piece.append(shown.slice(0, hit.index), mark(hit[0]), shown.slice(hit.index + hit[0].length), " …");
  return piece;
}

function mark(text) {
  return Object.assign(document.createElement("mark"), { textContent: text });
}

async function search() {
  const parts = query.value.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const stems = parts.map((part) => `(?<![\\p{L}\\p{N}])${part.replace(/(?<=...)s$/, "")}`);
  const words = stems.map((stem) => new RegExp(stem, "iu"));
  if (!words.length) return show([]);
  const phrase = new RegExp(stems.join("\\P{L}+"), "iu");
  const all = (await load()).map((section) => [score(section, words, phrase), section]);
  const best = all.filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  show(best.map(([, [address, title, heading, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a"), name = document.createElement("strong");
    link.href = new URL(address, root);
    name.textContent = heading ? `${title} › ${heading}` : title;
    link.append(name, excerpt(text, phrase.test(text) ? phrase : words[0]));
    item.append(link);
    return item;
  }));
}

function show(items) {
  found.hidden = !query.value.trim();
  if (!items.length && query.value.trim()) {
    items = [Object.assign(document.createElement("li"), { textContent: "Nothing found." })];
  }
  found.replaceChildren(...items);
}

query.addEventListener("focus", load);
query.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    query.focus();
  }
  if (found.hidden) return;
  const links = [query, ...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
  if (event.key === "Escape") { found.hidden = true; query.focus(); }
  else if (at >= 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    links.at((at + (event.key === "ArrowDown" ? 1 : -1)) % links.length).focus();
  } else if (event.key === "Enter" && event.target === query) links[1]?.click();
});
document.addEventListener("click", (event) => { if (!event.target.closest("search")) found.hidden = true; });

// Dark and light: as the system has it, until the reader chooses.

const theme = document.getElementById("theme");
const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function labelTheme() {
  theme.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
}
theme.addEventListener("click", () => {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  localStorage.setItem("theme", chosen);
  labelTheme();
});
labelTheme();

// The menu on a phone; the page that is open stays in view in the navigation.

const menu = document.getElementById("menu"), navigation = document.getElementById("navigation");
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", navigation.classList.toggle("open")));
const current = navigation.querySelector("[aria-current]");
if (current?.offsetTop > navigation.clientHeight) navigation.scrollTop = current.offsetTop - navigation.clientHeight / 2;

// What scrolls sideways can be reached by the keyboard.

function reachScrolling() {
  for (const part of document.querySelectorAll("main pre, .table, .formula, .drawing")) {
    if (part.scrollWidth > part.clientWidth + 1) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
reachScrolling();
addEventListener("resize", reachScrolling);
document.addEventListener("toggle", reachScrolling, true);

// Lines of code: a click on a number makes the link to the line.

document.querySelector(".lines")?.addEventListener("click", (event) => {
  if (event.target.matches("span[id]") && event.offsetX < 60) location.hash = event.target.id;
});

// Words of the glossary: what a word means, while the pointer or the keyboard is on it.

const tip = Object.assign(document.createElement("div"), { id: "tip", role: "tooltip", hidden: true });
document.body.append(tip);
function explain(event) {
  const term = event.target.closest?.(".term");
  tip.hidden = !term;
  if (!term) return;
  tip.textContent = term.dataset.says;
  term.setAttribute("aria-describedby", "tip");
  const place = term.getBoundingClientRect(), edge = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(place.left, edge))}px`;
  tip.style.top = `${place.bottom + scrollY + 6}px`;
}
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, explain);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
