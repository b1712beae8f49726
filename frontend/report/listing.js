"use strict";
// A listing of any length: only the rows in view exist. One row is current; keys move it.

const ROW = 19;
const MARGIN = 20;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

class Listing {
  // `draw(index)` gives the content of a row as {classes, parts}; `choose(index)` is called on click and Enter.
  constructor(box, label, draw, choose) {
    this.box = box;
    this.draw = draw;
    this.choose = choose;
    this.count = 0;
    this.here = -1;
    this.rows = element("div", { class: "rows" });
    box.replaceChildren(this.rows);
    box.tabIndex = 0;
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", label);
    box.addEventListener("scroll", () => this.schedule());
    box.addEventListener("keydown", (event) => this.key(event));
    this.rows.addEventListener("click", (event) => {
      // By position where a row was drawn anew between the press and the release.
      const row = event.target.closest(".row");
      const index = row ? Number(row.dataset.index) : Math.floor((event.clientY - this.rows.getBoundingClientRect().top) / ROW);
      if (index >= 0 && index < this.count) this.pick(index);
    });
    new ResizeObserver(() => this.render()).observe(box);
  }

  show(count) {
    this.count = count;
    this.here = Math.min(this.here, count - 1);
    this.rows.style.height = `${count * ROW}px`;
    this.render();
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.render(false); });
  }

  // Rows that stay in view are kept when only scrolling: nothing vanishes under the pointer.
  render(afresh = true) {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + MARGIN);
    const kept = new Map(afresh ? [] : [...this.rows.children].map((row) => [Number(row.dataset.index), row]));
    for (const [i, row] of kept) if (i < first || i >= last) row.remove();
    const made = [];
    for (let i = first; i < last; i++) {
      if (kept.has(i)) continue;
      const { classes, parts } = this.draw(i);
      const row = element("div", { class: `row ${classes}${i === this.here ? " here" : ""}`, role: "option" }, ...parts);
      row.dataset.index = i;
      row.id = `${this.box.id}-${i}`;
      row.setAttribute("aria-posinset", i + 1);
      row.setAttribute("aria-setsize", this.count);
      row.setAttribute("aria-selected", classes.includes("hit"));
      row.style.top = `${i * ROW}px`;
      made.push(row);
    }
    if (afresh) this.rows.replaceChildren(...made);
    else this.rows.append(...made);
    if (this.here >= 0) this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.here}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  pick(index) {
    this.here = index;
    this.choose(index);
    this.render();
  }

  // Scrolls only where the row is not in view.
  reveal(index) {
    this.here = index;
    const top = index * ROW;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop + ROW || top > scrollTop + clientHeight - 3 * ROW) {
      this.box.scrollTop = Math.max(0, top - clientHeight / 3);
    }
    this.render();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    if (event.key in moves && this.count) {
      event.preventDefault();
      this.reveal(Math.max(0, Math.min(this.count - 1, this.here + moves[event.key])));
    } else if (event.key === "Enter" && this.here >= 0) {
      this.pick(this.here);
    }
  }
}

// Numbers as people read them.
function scaled(value, units) {
  if (value === null || value === undefined) return "–";
  let i = 0;
  while (i < units.length - 1 && Math.abs(value) >= units[i + 1][0]) i++;
  const shown = value / units[i][0];
  return `${shown >= 100 || Number.isInteger(shown) ? Math.round(shown) : shown.toPrecision(3)} ${units[i][1]}`;
}
const seconds = (v) => scaled(v, [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]]);
const bytes = (v) => scaled(v, [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"]]);
const counted = (v) => scaled(v, [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]]).trim();
const percent = (v) => (v === null ? "–" : `${v >= 0.1 ? Math.round(v * 100) : (v * 100).toPrecision(2)} %`);

// Colours of code; one expression for Python, MLIR, C++ and Triton.
const TOKENS = /(\/\/.*$|#(?!map|tw|tk|th)\s.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(%[\w$.#-]+)|\b(def|return|class|self|import|from|for|if|else|elif|in|not|and|or|with|as|lambda|None|True|False|const|static|void|while|struct|typedef|func\.func|tk\.func|tk\.kernel|tk\.for|tk\.tail|th\.launch|th\.extern|th\.call)\b|\b(\d+(?:\.\d+)?(?:e[+-]?\d+)?f?)\b/g;
const TOKEN_CLASSES = ["c", "s", "v", "k", "n"];

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    if (found.index > end) parts.push(text.slice(end, found.index));
    const kind = TOKEN_CLASSES[found.slice(1).findIndex((group) => group !== undefined)];
    parts.push(element("span", { class: kind }, found[0]));
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}
