"use strict";
// The code view: source, stages, and one stage. A place (a line of the source) ties them together.

class CodeView {
  constructor(data) {
    this.data = data;
    this.place = -1;
    this.stage = 0;
    this.file = 0;
    this.numbers = new Map(data.places.map(([file, line], i) => [`${file}:${line}`, i]));
    this.source = new Listing(byId("source"), "Source lines", (i) => this.sourceRow(i), (i) => this.chooseLine(i));
    this.lines = new Listing(byId("stage"), "Lines of this stage", (i) => this.stageRow(i), (i) => this.chooseOp(i));
    byId("file").replaceChildren(...data.files.map((f, i) => element("option", { value: i }, f.name)));
    byId("file").addEventListener("change", (event) => this.openFile(Number(event.target.value)));
    byId("next").addEventListener("click", () => this.step(1));
    byId("previous").addEventListener("click", () => this.step(-1));
    byId("next-change").addEventListener("click", () => this.nextChange());
    this.list = byId("stages");
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item) this.openStage(Number(item.dataset.index));
    });
    this.list.addEventListener("keydown", (event) => {
      const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      event.preventDefault();
      this.openStage(Math.max(0, Math.min(this.graph.stages.length - 1, this.stage + move)));
    });
  }

  open(graph) {
    this.graph = graph;
    this.costs = new Map();
    for (const step of graph.steps) {
      if (step.seconds === null || !step.places.length) continue;
      this.costs.set(step.places[0], (this.costs.get(step.places[0]) ?? 0) + step.seconds);
    }
    this.notes = new Map();
    for (const note of [...this.data.breaks, ...graph.notes]) {
      if (!this.notes.has(note.place)) this.notes.set(note.place, []);
      this.notes.get(note.place).push(note);
    }
    for (const stage of graph.stages) stage.isChanged ??= new Set(stage.changed);
    this.openFile(this.file);
    this.openStage(graph.stages.length - 1);
  }

  openFile(index) {
    this.file = index;
    byId("file").value = String(index);
    const file = this.data.files[index];
    this.source.here = -1;
    this.source.show(file ? file.lines.length : 0);
    const used = file ? this.data.places.filter(([name]) => name === file.name).map(([, line]) => line) : [];
    if (used.length && this.place < 0) this.source.reveal(Math.max(0, Math.min(...used) - file.first - 2)), this.source.here = -1;
    this.source.render();
  }

  openStage(index) {
    this.stage = index;
    const stage = this.graph.stages[index];
    byId("stage-name").textContent = stage ? stage.name : "no stage";
    this.lines.here = -1;
    this.lines.box.scrollTop = 0;
    this.lines.show(stage ? stage.texts.length : 0);
    this.drawStages();
    const hits = this.hits();
    if (hits.length) this.lines.reveal(hits[0]);
    this.countHits();
  }

  drawStages() {
    const items = this.graph.stages.map((stage, i) => {
      const found = this.place < 0 ? 0 : stage.places.reduce((n, p) => n + (p === this.place), 0);
      const changes = stage.changed.length + stage.removed;
      return element("li", {
        role: "option", id: `form-${i}`, "data-index": i, "aria-selected": String(i === this.stage),
        class: stage.kind === "mlir" && !changes && i ? "same" : null,
        title: stage.kind === "mlir" ? `${stage.ops} operations, ${stage.changed.length} changed, ${stage.removed} gone` : null,
      },
      element("span", {}, stage.name),
      element("span", { class: "found", title: "lines of the selected source line" , hidden: !found }, String(found)),
      element("span", { class: "delta" }, changes && stage.kind === "mlir" ? `±${changes}` : ""));
    });
    this.list.replaceChildren(...items);
    this.list.setAttribute("aria-activedescendant", `form-${this.stage}`);
    const current = items[this.stage];
    if (current) {
      const box = this.list.getBoundingClientRect(), own = current.getBoundingClientRect();
      if (own.bottom > box.bottom || own.top < box.top) this.list.scrollTop += own.top - box.top - box.height / 2;
      if (own.right > box.right || own.left < box.left) this.list.scrollLeft += own.left - box.left - 40;
    }
  }

  sourceRow(i) {
    const file = this.data.files[this.file];
    const place = this.numbers.get(`${file.name}:${file.first + i}`);
    const cost = this.costs.get(place);
    const notes = place === undefined ? [] : this.notes.get(place) ?? [];
    const known = place !== undefined;
    return {
      classes: `${known ? "linked" : ""}${known && place === this.place ? " hit" : ""}`,
      parts: [
        element("span", { class: "no" }, String(file.first + i)),
        element("span", { class: "cost", title: cost ? "measured time of the kernels that this line leads" : null }, cost ? seconds(cost) : ""),
        element("span", { class: "mark flag", title: notes.length ? `${notes.length} remarks` : null }, notes.length ? "●" : ""),
        element("span", {}, ...coloured(file.lines[i])),
      ],
    };
  }

  stageRow(i) {
    const stage = this.graph.stages[this.stage];
    const place = stage.places[i];
    const changed = stage.isChanged.has(i);
    return {
      classes: `${place >= 0 ? "linked" : ""}${changed ? " changed" : ""}${place >= 0 && place === this.place ? " hit" : ""}`,
      parts: [
        element("span", { class: "no" }, String(i + 1)),
        element("span", { class: "mark" }, changed ? "+" : ""),
        element("span", {}, ...coloured(this.data.texts[stage.texts[i]])),
      ],
    };
  }

  chooseLine(i) {
    const file = this.data.files[this.file];
    const place = this.numbers.get(`${file.name}:${file.first + i}`);
    if (place === undefined) return;
    this.place = place;
    this.update();
    const hits = this.hits();
    if (hits.length) this.lines.reveal(hits[0]);
    this.countHits();
  }

  chooseOp(i) {
    const place = this.graph.stages[this.stage].places[i];
    if (place >= 0) this.select(place);
    this.countHits();
  }

  // Selects a place from anywhere, and shows its line.
  select(place) {
    this.place = place;
    const [name, line] = this.data.places[place];
    const index = this.data.files.findIndex((file) => file.name === name);
    if (index >= 0) {
      if (index !== this.file) this.openFile(index);
      const row = line - this.data.files[index].first;
      if (row >= 0 && row < this.data.files[index].lines.length) this.source.reveal(row);
    }
    this.update();
  }

  update() {
    if (this.source.here >= 0) requestAnimationFrame(() => this.source.reveal(this.source.here));
    this.source.render();
    this.lines.render();
    this.drawStages();
    this.showNotes();
    this.countHits();
  }

  showNotes() {
    const [name, line] = this.data.places[this.place] ?? ["", 0];
    const steps = this.graph.steps.filter((step) => step.places.includes(this.place));
    const made = [];
    if (this.place >= 0) {
      const names = [...new Set(steps.map((step) => step.name))];
      made.push(element("div", { class: "note" },
        element("strong", {}, `${name.split("/").pop()}:${line} `),
        names.length ? "runs in " : "runs in no kernel of its own",
        ...names.flatMap((n, i) => [i ? ", " : "", element("button", { class: "link mono", onclick: () => this.openKernel(n) }, n)])));
    }
    made.push(...(this.notes.get(this.place) ?? []).map(noteElement));
    byId("line-notes").replaceChildren(...made);
  }

  // Shows the emitted code of a kernel; a library call has only its line in the plan.
  openKernel(name) {
    const plain = name.replace(/[^A-Za-z0-9_]/g, "_");
    const stages = this.graph.stages;
    for (let i = stages.length - 1; i >= 0; i--) {
      const row = stages[i].kind === "code" ? stages[i].starts[plain] : undefined;
      if (row === undefined) continue;
      this.openStage(i);
      this.lines.reveal(row);
      return true;
    }
    for (let i = stages.length - 1; i >= 0; i--) {
      const row = stages[i].texts.findIndex((t) => this.data.texts[t].includes(name));
      if (row < 0) continue;
      this.openStage(i);
      this.lines.reveal(row);
      return true;
    }
    return false;
  }

  hits() {
    const stage = this.graph.stages[this.stage];
    if (!stage || this.place < 0) return [];
    return stage.places.flatMap((place, i) => (place === this.place ? [i] : []));
  }

  countHits() {
    const hits = this.hits();
    const at = hits.indexOf(this.lines.here);
    byId("hits").textContent = this.place < 0 ? "choose a line" : hits.length ? `${at >= 0 ? `${at + 1} of ` : ""}${hits.length} lines` : "no line here";
    byId("next").disabled = byId("previous").disabled = !hits.length;
    byId("next-change").disabled = !this.graph.stages[this.stage]?.changed.length;
  }

  step(by) {
    const hits = this.hits();
    if (!hits.length) return;
    const after = by > 0 ? hits.find((i) => i > this.lines.here) : hits.findLast((i) => i < this.lines.here);
    this.lines.reveal(after ?? hits[by > 0 ? 0 : hits.length - 1]);
    this.countHits();
  }

  nextChange() {
    const changed = this.graph.stages[this.stage].changed;
    if (changed.length) this.lines.reveal(changed.find((i) => i > this.lines.here) ?? changed[0]);
    this.countHits();
  }
}

function noteElement(note) {
  const cost = note.bytes ? ` — about ${bytes(note.bytes)} through memory${page.costOf(note.bytes)}` : "";
  return element("div", { class: "note" },
    element("span", { class: `kind ${note.kind}` }, note.kind),
    `${note.what}${cost}`,
    element("div", { class: "fix" }, `→ ${note.remedy}`));
}
