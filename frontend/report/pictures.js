"use strict";
// Pictures: the graph of steps, memory over time, and the roofline.

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// One element of a picture takes part in the tab order; arrow keys go through the others.
function reachable(items, choose) {
  items.forEach((item, i) => {
    item.setAttribute("tabindex", i ? "-1" : "0");
    item.setAttribute("role", "button");
    item.addEventListener("click", () => choose(i));
    item.addEventListener("keydown", (event) => {
      const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(i); }
      if (!move) return;
      event.preventDefault();
      const other = items[Math.max(0, Math.min(items.length - 1, i + move))];
      item.setAttribute("tabindex", "-1");
      other.setAttribute("tabindex", "0");
      other.focus();
    });
  });
}

const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function stepTitle(step) {
  const where = step.places.length ? ` · ${page.placeName(step.places[0])}` : "";
  return `${step.name}${where} · ${seconds(step.seconds)} · ${bytes(step.bytes)} · ${counted(step.flops)} flop`;
}

function drawGraph(graph, box, choose) {
  const { nodes, edges, width, height } = graph.layout;
  const slowest = Math.max(...graph.steps.map((step) => step.seconds ?? 0), 1e-12);
  const picture = svg("svg", { viewBox: `-10 -10 ${width + 20} ${height + 20}`, width: width + 20, height: height + 20, role: "group", "aria-label": "Kernels and library calls, with the results that they read" });
  const paths = edges.map(([from, to, d]) => svg("path", { class: "edge", d, "data-from": from, "data-to": to }));
  const boxes = graph.steps.map((step, i) => {
    const [x, y] = nodes[i];
    const heat = ((step.seconds ?? 0) / slowest) * 160;
    return svg("g", { class: `node ${step.kind}`, transform: `translate(${x} ${y})`, "aria-label": stepTitle(step) },
      svg("title", {}, stepTitle(step)),
      svg("rect", { class: "box", width: 168, height: 36 }),
      svg("text", { x: 8, y: 15 }, short(step.name, 23)),
      svg("text", { x: 8, y: 28, class: "dim" }, short(`${step.places.length ? page.placeName(step.places[0]) : ""} ${step.seconds === null ? "" : seconds(step.seconds)}`.trim(), 23)),
      svg("rect", { class: "heat", x: 4, y: 32, width: heat, height: 3 }));
  });
  const mark = (i) => paths.forEach((path) => path.classList.toggle("near", path.dataset.from === String(i) || path.dataset.to === String(i)));
  reachable(boxes, (i) => { mark(i); choose(i); });
  boxes.forEach((node, i) => node.addEventListener("focus", () => mark(i)));
  picture.append(...paths, ...boxes);
  box.replaceChildren(picture);
  return { picture, boxes };
}

const HUES = [212, 152, 32, 276, 340, 186, 84, 12];

function drawMemory(graph, box, choose) {
  const steps = Math.max(graph.steps.length, 1);
  const column = Math.max(6, Math.min(60, 1000 / steps));
  const height = 360, left = 76, width = column * steps;
  const scale = height / Math.max(graph.arena, 1);
  const picture = svg("svg", { width: left + width + 20, height: height + 44, role: "group", "aria-label": "Temporaries: where in the arena, from first to last use" });
  for (let i = 0; i <= 4; i++) {
    const y = height - (height * i) / 4 + 8;
    picture.append(svg("line", { class: "axis", x1: left, x2: left + width, y1: y, y2: y }),
      svg("text", { class: "dim", x: left - 8, y: y + 4, "text-anchor": "end" }, bytes((graph.arena * i) / 4)));
  }
  picture.append(svg("text", { class: "dim", x: left, y: height + 30 }, `step 1 of ${graph.steps.length} → time`));
  const blocks = graph.blocks.map((block, i) => {
    const title = `${block.name}: ${bytes(block.bytes)} at ${bytes(block.offset)}, steps ${block.first + 1} to ${block.last + 1}`;
    const hue = HUES[i % HUES.length];
    return svg("rect", {
      class: "block", x: left + block.first * column, width: Math.max((block.last - block.first + 1) * column - 1, 3),
      y: height + 8 - (block.offset + block.bytes) * scale, height: Math.max(block.bytes * scale, 2),
      fill: `hsl(${hue} 58% 52%)`, "fill-opacity": 0.8, "aria-label": title,
    }, svg("title", {}, title));
  });
  reachable(blocks, (i) => choose(graph.blocks[i].first));
  picture.append(...blocks);
  box.replaceChildren(picture);
}

// Operations per second over operations per byte, both logarithmic, under what the machine reaches.
function drawRoofline(graph, machine, box, choose) {
  const shown = graph.steps.map((step, i) => ({ step, i })).filter(({ step }) => step.flops && step.bytes && step.seconds);
  if (!shown.length) { box.replaceChildren(); return; }
  const width = 560, height = 280, left = 96, bottom = 40;
  const slope = Math.max(...machine.copies.map(([, v]) => v)), memory = machine.copies.at(-1)[1];
  const xs = shown.map(({ step }) => step.flops / step.bytes), ys = shown.map(({ step }) => step.flops / step.seconds);
  const [x0, x1] = [Math.min(...xs, 0.05) / 2, Math.max(...xs, machine.flops / memory) * 3];
  const [y0, y1] = [Math.min(...ys, slope * x0) / 2, Math.max(...ys, machine.flops) * 2];
  const X = (v) => left + (Math.log(v / x0) / Math.log(x1 / x0)) * (width - left - 12);
  const Y = (v) => height - bottom - (Math.log(v / y0) / Math.log(y1 / y0)) * (height - bottom - 12);
  const roof = (speed) => `M${X(x0)} ${Y(Math.max(speed * x0, y0))}L${X(machine.flops / speed)} ${Y(machine.flops)}L${X(x1)} ${Y(machine.flops)}`;
  const picture = svg("svg", { width, height, role: "group", "aria-label": "Roofline of every step" },
    svg("path", { class: "roof", d: roof(slope) }), svg("path", { class: "roof", d: roof(memory), "stroke-dasharray": "4 4" }));
  for (let p = Math.ceil(Math.log10(y0)); p <= Math.log10(y1); p++) {
    picture.append(svg("line", { class: "axis", x1: left, x2: width - 12, y1: Y(10 ** p), y2: Y(10 ** p) }),
      svg("text", { class: "dim", x: left - 6, y: Y(10 ** p) + 4, "text-anchor": "end" }, `${counted(10 ** p)}flop/s`));
  }
  for (let p = Math.ceil(Math.log10(x0)); p <= Math.log10(x1); p++) {
    picture.append(svg("text", { class: "dim", x: X(10 ** p), y: height - bottom + 16, "text-anchor": "middle" }, String(Number((10 ** p).toPrecision(1)))));
  }
  picture.append(svg("text", { class: "dim", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "operations per byte"));
  const dots = shown.map(({ step }, k) => svg("circle", { class: `dot ${step.kind}`, cx: X(xs[k]), cy: Y(ys[k]), r: 5, "aria-label": stepTitle(step) }, svg("title", {}, stepTitle(step))));
  reachable(dots, (k) => choose(shown[k].i));
  picture.append(...dots);
  box.replaceChildren(picture);
}
