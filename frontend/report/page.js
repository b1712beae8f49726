"use strict";
// Brings the views together: tabs, the chosen graph, keys, and links from one view to another.

const byId = (id) => document.getElementById(id);

class Page {
  constructor(data) {
    this.data = data;
    this.drawn = new Set();
  }

  start() {
    this.code = new CodeView(this.data);
    const pick = byId("graph");
    pick.replaceChildren(...this.data.graphs.map((graph, i) => element("option", { value: i }, `${i + 1} · ${graph.kind}`)));
    byId("graph-pick").hidden = this.data.graphs.length < 2;
    pick.addEventListener("change", () => this.open(Number(pick.value)));
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    this.tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => this.show(tab.id.slice(4)));
      tab.addEventListener("keydown", (event) => {
        const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!move) return;
        const other = this.tabs[(i + move + this.tabs.length) % this.tabs.length];
        other.focus();
        this.show(other.id.slice(4));
      });
    });
    document.addEventListener("keydown", (event) => this.key(event));
    if (this.data.graphs.length) this.open(0);
    else this.sayWhyNothing();
  }

  key(event) {
    if (event.target.matches("select, input") || event.ctrlKey || event.metaKey || event.altKey || byId("view-code").hidden) return;
    if (event.key === "n") this.code.step(1);
    if (event.key === "p") this.code.step(-1);
    if (event.key === "c") this.code.nextChange();
  }

  sayWhyNothing() {
    const reasons = this.data.breaks.length ? this.data.breaks.map((note) => note.what) : ["the function computed nothing with tensors"];
    const lines = ["No graph was compiled.", ...reasons].map((line) => element("p", { class: "empty" }, line));
    document.querySelector("main").replaceChildren(...lines);
  }

  open(index) {
    this.graph = this.data.graphs[index];
    byId("graph").value = String(index);
    this.code.open(this.graph);
    this.drawn.clear();
    this.tiles();
    byId("tab-remarks").replaceChildren("Remarks", element("span", { class: "count" }, String(this.graph.notes.length + this.data.breaks.length)));
    this.draw(this.view ?? "code");
  }

  show(view) {
    this.view = view;
    for (const tab of this.tabs) {
      const chosen = tab.id === `tab-${view}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(`view-${tab.id.slice(4)}`).hidden = !chosen;
    }
    this.draw(view);
  }

  // A view is drawn when it is first looked at.
  draw(view) {
    if (this.drawn.has(view)) return;
    this.drawn.add(view);
    const box = byId(`view-${view}`), { graph, data } = this;
    if (view === "kernels") drawKernels(graph, data.machine, box);
    if (view === "graph") drawGraphView(graph, box);
    if (view === "memory") drawMemoryView(graph, box);
    if (view === "remarks") drawRemarks(graph, data.breaks, box);
    if (view === "passes") drawPasses(graph, box);
  }

  tiles() {
    const { graph } = this;
    const kernels = graph.kernels.filter((kernel) => kernel.kind === "kernel");
    const launches = kernels.reduce((n, kernel) => n + kernel.steps.length, 0);
    const fallbacks = graph.notes.filter((note) => note.kind === "fall-back").length;
    const tile = (name, value, warn) => element("div", { class: warn ? "warn" : null }, element("dt", {}, name), element("dd", {}, value));
    const compile = Object.values(graph.stage_seconds).reduce((a, b) => a + b, 0);
    byId("tiles").replaceChildren(
      tile("kernels / launches", `${kernels.length} / ${launches}`),
      tile("library calls", String(graph.steps.length - launches)),
      tile("fall-backs", graph.by_aten ? "all" : String(fallbacks), fallbacks || graph.by_aten),
      tile("one call", seconds(graph.call_seconds)),
      tile("arena", bytes(graph.arena)),
      tile("compile", seconds(compile)));
  }

  placeName(place) {
    const [file, line] = this.data.places[place];
    return `${file.split("/").pop()}:${line}`;
  }

  placeLink(place) {
    if (place < 0) return "–";
    return element("button", { class: "link mono", title: this.data.places[place].join(":"), onclick: () => this.showPlace(place) }, this.placeName(place));
  }

  showPlace(place) {
    this.show("code");
    this.code.select(place);
    const hits = this.code.hits();
    if (hits.length) this.code.lines.reveal(hits[0]);
    this.code.countHits();
  }

  showStage(index) {
    this.show("code");
    this.code.openStage(index);
  }

  showKernel(kernel) {
    this.showStep(kernel.steps[0]);
  }

  showStep(index) {
    const step = this.graph.steps[index];
    this.show("code");
    if (step.places.length) this.code.select(step.places[0]);
    this.code.openKernel(step.name);
    this.code.countHits();
  }

  bandwidth(moved) {
    const near = (size) => Math.abs(Math.log2(size) - Math.log2(Math.max(moved, 1)));
    return this.data.machine.copies.reduce((best, one) => (near(one[0]) < near(best[0]) ? one : best))[1];
  }

  costOf(moved) {
    return this.data.machine ? `, ${seconds(moved / this.bandwidth(moved))}` : "";
  }
}

const page = new Page(JSON.parse(byId("data").textContent));
page.start();
