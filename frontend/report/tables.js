"use strict";
// The views made of tables and lists.

function sortable(columns, rows, label) {
  const body = element("tbody");
  const heads = columns.map(({ name, number, key }, i) => {
    const head = element("th", { scope: "col", class: number ? "number" : null });
    head.append(key ? element("button", { onclick: () => order(i) }, name) : name);
    return head;
  });
  function order(i) {
    const down = heads[i].getAttribute("aria-sort") !== "descending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
    const { key } = columns[i];
    const compare = (a, b) => (typeof key(a) === "string" ? key(a).localeCompare(key(b)) : (key(a) ?? -1) - (key(b) ?? -1));
    draw([...rows].sort((a, b) => (down ? -compare(a, b) : compare(a, b))));
  }
  const LIMIT = 300;
  function draw(ordered, all = false) {
    const shown = all ? ordered : ordered.slice(0, LIMIT);
    body.replaceChildren(...shown.map((row) => element("tr", {}, ...columns.map(({ cell, number, wrap }) =>
      element("td", { class: number ? "number" : wrap ? "wrap" : null }, ...[cell(row)].flat())))));
    if (shown.length < ordered.length) {
      body.append(element("tr", {}, element("td", { colspan: columns.length },
        element("button", { onclick: () => draw(ordered, true) }, `show all ${ordered.length}`))));
    }
  }
  draw(rows);
  return element("div", { class: "scroll" },
    element("table", { "aria-label": label }, element("thead", {}, element("tr", {}, ...heads)), body));
}

function meter(share) {
  const bar = element("i");
  bar.style.width = `${Math.min(100, Math.max(0, share * 100))}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, bar);
}

function kernelRows(graph, machine) {
  return graph.kernels.map((kernel) => {
    const steps = kernel.steps.map((i) => graph.steps[i]);
    const sum = (key) => (steps.every((s) => s[key] !== null) ? steps.reduce((n, s) => n + s[key], 0) : null);
    const time = sum("seconds"), moved = sum("bytes"), flops = sum("flops");
    const copy = time && moved && machine ? moved / time / page.bandwidth(moved / steps.length) : null;
    const peak = time && flops && machine ? flops / time / machine.flops : null;
    return { kernel, place: steps[0].places[0] ?? -1, time, moved, flops, copy, peak };
  });
}

function drawKernels(graph, machine, box) {
  const rows = kernelRows(graph, machine);
  const total = rows.reduce((n, row) => n + (row.time ?? 0), 0);
  const columns = [
    { name: "kernel", key: (r) => r.kernel.name, cell: (r) => element("button", { class: "link mono", onclick: () => page.showKernel(r.kernel) }, r.kernel.name) },
    { name: "line", key: (r) => r.place, cell: (r) => page.placeLink(r.place) },
    { name: "launches", number: true, key: (r) => r.kernel.steps.length, cell: (r) => String(r.kernel.steps.length) },
    { name: "time", number: true, key: (r) => r.time, cell: (r) => [seconds(r.time), meter(total && r.time ? r.time / total : 0)] },
    { name: "moves", number: true, key: (r) => r.moved, cell: (r) => bytes(r.moved) },
    { name: "flop", number: true, key: (r) => r.flops, cell: (r) => counted(r.flops) },
    { name: "of copy speed", number: true, key: (r) => r.copy, cell: (r) => percent(r.copy) },
    { name: "of peak", number: true, key: (r) => r.peak, cell: (r) => percent(r.peak) },
    { name: "schedule", wrap: true, cell: (r) => scheduleText(r.kernel) },
  ];
  const hint = graph.not_measured
    ? `Not measured: ${graph.not_measured}.`
    : `Fastest of several runs inside whole calls (${seconds(graph.call_seconds)} each), on the buffers of the first call. "Moves" counts every element once: a kernel whose data stays in cache can exceed the speed of a copy.`;
  const roofline = element("div", { class: "picture" });
  box.replaceChildren(element("p", { class: "hint" }, hint), sortable(columns, rows.sort((a, b) => (b.time ?? 0) - (a.time ?? 0)), "Kernels"));
  if (machine && !graph.not_measured) {
    const speeds = machine.copies.map(([size, speed]) => ({ size, speed }));
    const table = sortable([
      { name: "a copy that moves", number: true, cell: (r) => bytes(r.size) },
      { name: "reaches", number: true, cell: (r) => `${bytes(r.speed)}/s` },
    ], speeds, "Measured copies");
    const peak = element("p", { class: "hint" }, `Peak: ATen's f32 matrix product reaches ${counted(machine.flops)}flop/s here.`);
    box.append(element("div", { class: "two" }, roofline, element("div", {}, table, peak)));
    drawRoofline(graph, machine, roofline, (i) => page.showStep(i));
    if (!roofline.childNodes.length) roofline.remove();
  }
}

function scheduleText(kernel) {
  if (kernel.kind === "library") return "library call";
  const parts = Object.entries(kernel.schedule).map(([name, value]) => `${name.replace("tk.", "")} ${value.replace(/array<i64: ?(.*)>/, "[$1]").replace(/ : i64$/, "").replace(/^#tk\.map<(.*)>$/, "$1")}`);
  return parts.join(" · ") || "as written";
}

function drawGraphView(graph, box) {
  const detail = element("p", { class: "hint", "aria-live": "polite" }, "Each box is one kernel or (dashed) library call; lines are results that it reads. The bar is its share of the slowest. Choose one to see its line and code.");
  const holder = element("div", { class: "picture" });
  const made = drawGraph(graph, holder, (i) => {
    const step = graph.steps[i];
    made.boxes.forEach((node, k) => node.classList.toggle("hit", k === i));
    const lines = step.places.flatMap((place, k) => [k ? ", " : "", page.placeLink(place)]);
    detail.replaceChildren(element("button", { class: "link mono", onclick: () => page.showStep(i) }, step.name), ` (step ${i + 1}) ${seconds(step.seconds)}, moves ${bytes(step.bytes)}, ${counted(step.flops)} flop; fused from `, ...(lines.length ? lines : ["no known line"]));
  });
  let zoom = Math.min(1, 1100 / graph.layout.width);
  const apply = () => {
    made.picture.setAttribute("width", (graph.layout.width + 20) * zoom);
    made.picture.setAttribute("height", (graph.layout.height + 20) * zoom);
  };
  const button = (label, by) => element("button", { onclick: () => { zoom = by ? Math.min(3, Math.max(0.05, zoom * by)) : Math.min(1, holder.clientWidth / (graph.layout.width + 24)); apply(); } }, label);
  apply();
  box.replaceChildren(element("div", { class: "filters" }, button("fit", 0), button("larger", 1.4), button("smaller", 1 / 1.4)), detail, holder);
}

function drawMemoryView(graph, box) {
  const holder = element("div", { class: "picture" });
  const guessed = graph.guessed ? " Symbolic sizes are taken to be 256: the graph was not called." : "";
  const text = graph.blocks.length
    ? `One arena of ${bytes(graph.arena)} holds ${graph.blocks.length} ${graph.blocks.length === 1 ? "temporary" : "temporaries"}, which would take ${bytes(graph.requested)} without sharing memory. Each box is a temporary, from its first to its last use.${guessed}`
    : "This graph keeps no temporaries: every kernel writes a result.";
  box.replaceChildren(element("p", { class: "hint" }, text));
  if (graph.blocks.length) { box.append(holder); drawMemory(graph, holder, (i) => page.showStep(i)); }
}

function drawRemarks(graph, breaks, box) {
  const notes = [...breaks, ...graph.notes];
  const kinds = [...new Set(notes.map((note) => note.kind))];
  const hidden = new Set(notes.length > 60 ? ["library"] : []);
  const list = element("div", { class: "remarks" });
  const buttons = kinds.map((kind) => element("button", { "aria-pressed": String(!hidden.has(kind)), onclick: (event) => {
    if (!hidden.delete(kind)) hidden.add(kind);
    event.target.setAttribute("aria-pressed", String(!hidden.has(kind)));
    draw();
  } }, `${kind} ${notes.filter((note) => note.kind === kind).length}`));
  function draw() {
    const shown = notes.filter((note) => !hidden.has(note.kind)).sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    list.replaceChildren(...shown.map((note) => {
      const made = noteElement(note);
      if (note.place >= 0) made.prepend(page.placeLink(note.place), " ");
      return made;
    }));
    if (!shown.length) list.append(element("p", { class: "empty" }, "Nothing to remark."));
  }
  draw();
  box.replaceChildren(element("p", { class: "hint" }, "What passes left alone and why, with the memory traffic that stays because of it (the largest first)."), element("div", { class: "filters" }, ...buttons), list);
}

function drawPasses(graph, box) {
  const rows = graph.stages.map((stage, i) => ({ stage, i })).filter(({ stage }) => stage.kind !== "fx");
  const slowest = Math.max(...rows.map(({ stage }) => stage.seconds ?? 0), 1e-9);
  const columns = [
    { name: "stage", key: (r) => r.i, cell: (r) => element("button", { class: "link mono", onclick: () => page.showStage(r.i) }, r.stage.name) },
    { name: "time", number: true, key: (r) => r.stage.seconds, cell: (r) => [seconds(r.stage.seconds), meter((r.stage.seconds ?? 0) / slowest)] },
    { name: "operations", number: true, key: (r) => r.stage.ops, cell: (r) => (r.stage.kind === "mlir" ? String(r.stage.ops) : "–") },
    { name: "changed", number: true, key: (r) => r.stage.changed.length, cell: (r) => String(r.stage.changed.length) },
    { name: "gone", number: true, key: (r) => r.stage.removed, cell: (r) => String(r.stage.removed) },
  ];
  const stages = Object.entries(graph.stage_seconds).map(([name, value]) => `${name} ${seconds(value)}`).join(", ");
  box.replaceChildren(element("p", { class: "hint" }, `Compile time: ${stages}. (Time to write this report is not in it.)`), sortable(columns, rows, "Passes"));
}
