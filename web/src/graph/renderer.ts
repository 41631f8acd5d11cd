// Draws a graph on a canvas, which can be panned and zoomed.
//
// While it moves, only as many links are drawn as a slow machine can draw in time; everything is drawn once it stands still.
// Without a graphics card, 10,000 notes take 90 ms with 25,000 links, and 20 ms with 3,000.

import { COLOUR_COUNT } from './model';

export interface Scene {
  labels: string[];
  /** Index pairs: from, to, from, to … */
  edges: Uint32Array;
  degree: number[];
  colourOf: Uint8Array;
  visible: Uint8Array;
  /** Nodes that a search found: drawn with a ring. */
  found: Set<number>;
  root: number | null;
}

export interface Palette {
  ink: string;
  quiet: string;
  paper: string;
  accent: string;
  groups: string[];
}

interface Handlers {
  open: (node: number) => void;
  hover: (node: number | null) => void;
  /** Set if the canvas is a part of a longer page: then the wheel scrolls that page, and zooms only with Control. */
  isInScrollingPage?: boolean;
}

const MAX_MOVING_LINKS = 3000; // drawn while something moves
const STILL_MS = 140; // without motion, after which everything is drawn
const MAX_LABELS = 60; // more would cover each other
const MAX_LABEL_CHARS = 34;
const LABEL_HEIGHT = 16; // px
const HIT_PX = 8; // how far from a node a pointer still hits it
const CLICK_PX = 5; // a pointer that moved less than this was a click
const MARGIN = 40; // px around everything
const PAN_STEP = 60; // px for an arrow key
const [MIN_ZOOM, MAX_ZOOM] = [0.02, 12];
const MAX_DENSITY = 2; // device pixels per pixel: more would take time and show nothing more

export class GraphRenderer {
  #canvas: HTMLCanvasElement;
  #context: CanvasRenderingContext2D;
  #handlers: Handlers;
  #scene: Scene | null = null;
  #positions: Float32Array = new Float32Array();
  #radii = new Float32Array();
  #byDegree = new Uint32Array();
  #neighbours: Uint32Array[] | null = null;
  #palette: Palette = { ink: '#000', quiet: '#777', paper: '#fff', accent: '#55f', groups: [] };
  #camera = { x: 0, y: 0, zoom: 1 };
  #size = { width: 1, height: 1 };
  #hovered: number | null = null;
  #selected: number | null = null;
  #isFitted = true;
  #frame = 0;
  #stillTimer = 0;
  #pointers = new Map<number, { x: number; y: number }>();
  #pressed: { x: number; y: number; isDrag: boolean } | null = null;
  #abort = new AbortController();
  #observer: ResizeObserver;

  constructor(canvas: HTMLCanvasElement, handlers: Handlers) {
    this.#canvas = canvas;
    this.#handlers = handlers;
    const context = canvas.getContext('2d', { alpha: true });
    if (!context) throw new Error('This browser cannot draw the graph. The list shows the same notes.');
    this.#context = context;
    const { signal } = this.#abort;
    canvas.addEventListener('pointerdown', (event) => this.#handlePointerDown(event), { signal });
    canvas.addEventListener('pointermove', (event) => this.#handlePointerMove(event), { signal });
    canvas.addEventListener('pointerup', (event) => this.#handlePointerUp(event), { signal });
    canvas.addEventListener('pointercancel', (event) => this.#pointers.delete(event.pointerId), { signal });
    canvas.addEventListener('pointerleave', () => this.#pointers.size || this.#setHovered(null), { signal });
    canvas.addEventListener('wheel', (event) => this.#handleWheel(event), { signal, passive: false });
    canvas.addEventListener('keydown', (event) => this.#handleKeyDown(event), { signal });
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(canvas);
    this.#resize();
  }

  dispose(): void {
    this.#abort.abort();
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#stillTimer);
  }

  setScene(scene: Scene): void {
    const isNew = scene.edges !== this.#scene?.edges;
    this.#scene = scene;
    if (isNew) {
      this.#radii = Float32Array.from(scene.degree, (degree) => 2.2 + Math.sqrt(degree) * 0.9);
      this.#byDegree = Uint32Array.from(scene.degree.keys()).sort((a, b) => (scene.degree[b] ?? 0) - (scene.degree[a] ?? 0));
      this.#neighbours = null;
      this.#hovered = this.#selected = null;
      this.#isFitted = true;
    }
    this.#draw();
  }

  setPalette(palette: Palette): void {
    this.#palette = palette;
    this.#draw();
  }

  setPositions(positions: Float32Array): void {
    this.#positions = positions;
    if (this.#isFitted) this.#fit();
    this.#draw({ isMoving: true });
  }

  /** Shows everything, and keeps doing so while the layout changes, until a person moves the picture. */
  fit(): void {
    this.#isFitted = true;
    this.#fit();
    this.#draw();
  }

  zoomBy(factor: number, x = this.#size.width / 2, y = this.#size.height / 2): void {
    this.#isFitted = false;
    const camera = this.#camera;
    const zoom = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, camera.zoom * factor));
    const [dx, dy] = [x - this.#size.width / 2, y - this.#size.height / 2];
    camera.x += dx / camera.zoom - dx / zoom;
    camera.y += dy / camera.zoom - dy / zoom;
    camera.zoom = zoom;
    this.#draw({ isMoving: true });
  }

  panBy(dx: number, dy: number): void {
    this.#isFitted = false;
    this.#camera.x -= dx / this.#camera.zoom;
    this.#camera.y -= dy / this.#camera.zoom;
    this.#draw({ isMoving: true });
  }

  /** Centres a node and highlights it with its links; null removes the highlight. */
  select(node: number | null): void {
    this.#selected = node;
    if (node !== null && 2 * node < this.#positions.length) {
      this.#isFitted = false;
      this.#camera.x = this.#positions[2 * node] ?? 0;
      this.#camera.y = this.#positions[2 * node + 1] ?? 0;
      this.#camera.zoom = Math.max(this.#camera.zoom, 1.6);
    }
    this.#draw();
  }

  #resize(): void {
    const box = this.#canvas.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const density = Math.min(MAX_DENSITY, devicePixelRatio || 1);
    this.#size = { width: box.width, height: box.height };
    this.#canvas.width = Math.round(box.width * density);
    this.#canvas.height = Math.round(box.height * density);
    if (this.#isFitted) this.#fit();
    this.#paint(true); // at once, because resizing clears a canvas
  }

  #fit(): void {
    const positions = this.#positions;
    const scene = this.#scene;
    if (!scene || !positions.length) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < scene.visible.length; i++) {
      if (!scene.visible[i]) continue;
      const [x, y] = [positions[2 * i] ?? 0, positions[2 * i + 1] ?? 0];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
    if (left > right) return;
    const across = Math.max(1, this.#size.width - 2 * MARGIN) / Math.max(1, right - left);
    const down = Math.max(1, this.#size.height - 2 * MARGIN) / Math.max(1, bottom - top);
    this.#camera = { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.min(3.4, Math.max(MIN_ZOOM, Math.min(across, down))) };
  }

  // panning and zooming

  #pointOf(event: PointerEvent | WheelEvent): { x: number; y: number } {
    const box = this.#canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #handlePointerDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const point = this.#pointOf(event);
    this.#pointers.set(event.pointerId, point);
    if (this.#pointers.size === 1) this.#pressed = { ...point, isDrag: false };
    else if (this.#pressed) this.#pressed.isDrag = true; // two fingers are never a click
  }

  #handlePointerMove(event: PointerEvent): void {
    const point = this.#pointOf(event);
    const last = this.#pointers.get(event.pointerId);
    if (!last) return this.#setHovered(this.#findNodeAt(point.x, point.y));
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, point);
    if (other) {
      const [before, after] = [Math.hypot(last.x - other.x, last.y - other.y), Math.hypot(point.x - other.x, point.y - other.y)];
      this.panBy((point.x - last.x) / 2, (point.y - last.y) / 2);
      if (before > 0) this.zoomBy(after / before, (point.x + other.x) / 2, (point.y + other.y) / 2);
      return;
    }
    const pressed = this.#pressed;
    if (pressed && !pressed.isDrag && Math.hypot(point.x - pressed.x, point.y - pressed.y) < CLICK_PX) return;
    if (pressed) pressed.isDrag = true;
    this.panBy(point.x - last.x, point.y - last.y);
  }

  #handlePointerUp(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    if (this.#pointers.size) return;
    const pressed = this.#pressed;
    this.#pressed = null;
    if (!pressed || pressed.isDrag) return;
    const node = this.#findNodeAt(pressed.x, pressed.y);
    if (node !== null) this.#handlers.open(node);
  }

  #handleWheel(event: WheelEvent): void {
    if (this.#handlers.isInScrollingPage && !event.ctrlKey) return;
    event.preventDefault();
    const point = this.#pointOf(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    this.zoomBy(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), point.x, point.y);
  }

  #handleKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.panBy(PAN_STEP, 0),
      ArrowRight: () => this.panBy(-PAN_STEP, 0),
      ArrowUp: () => this.panBy(0, PAN_STEP),
      ArrowDown: () => this.panBy(0, -PAN_STEP),
      '+': () => this.zoomBy(1.3),
      '=': () => this.zoomBy(1.3),
      '-': () => this.zoomBy(1 / 1.3),
      '0': () => this.fit(),
    };
    const run = actions[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  }

  #setHovered(node: number | null): void {
    if (node === this.#hovered) return;
    this.#hovered = node;
    this.#canvas.style.cursor = node === null ? '' : 'pointer';
    this.#handlers.hover(node);
    this.#draw();
  }

  /** The visible node closest to a point of the canvas. Comparing 10,000 of them takes less than 0.1 ms. */
  #findNodeAt(x: number, y: number): number | null {
    const scene = this.#scene;
    if (!scene || !this.#positions.length) return null;
    const { zoom } = this.#camera;
    const [wx, wy] = this.#toWorld(x, y);
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < scene.visible.length; i++) {
      if (!scene.visible[i]) continue;
      const distance = Math.hypot((this.#positions[2 * i] ?? 0) - wx, (this.#positions[2 * i + 1] ?? 0) - wy) * zoom;
      const gap = distance - this.#radiusOf(i);
      if (gap < HIT_PX && gap < least) [best, least] = [i, gap];
    }
    return best < 0 ? null : best;
  }

  #toWorld(x: number, y: number): [number, number] {
    const { x: cx, y: cy, zoom } = this.#camera;
    return [cx + (x - this.#size.width / 2) / zoom, cy + (y - this.#size.height / 2) / zoom];
  }

  /** The radius of a node on the canvas. It grows more slowly than the zoom, so that nodes do not become blots. */
  #radiusOf(node: number): number {
    return Math.max(1.1, (this.#radii[node] ?? 1) * Math.sqrt(Math.min(4, this.#camera.zoom)));
  }

  // drawing

  #draw({ isMoving = false } = {}): void {
    clearTimeout(this.#stillTimer);
    if (isMoving) this.#stillTimer = setTimeout(() => this.#draw(), STILL_MS);
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint(!isMoving));
  }

  #paint(isComplete: boolean): void {
    const context = this.#context;
    const scene = this.#scene;
    const density = this.#canvas.width / this.#size.width;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, this.#size.width, this.#size.height);
    if (!scene || this.#positions.length < 2 * scene.visible.length) return;
    const highlighted = this.#findHighlighted();
    const { x, y, zoom } = this.#camera;
    const [offsetX, offsetY] = [this.#size.width / 2 - x * zoom, this.#size.height / 2 - y * zoom];
    const project = (node: number): [number, number] => [(this.#positions[2 * node] ?? 0) * zoom + offsetX, (this.#positions[2 * node + 1] ?? 0) * zoom + offsetY];
    this.#paintLinks(scene, project, isComplete, highlighted);
    this.#paintNodes(scene, project, highlighted);
    this.#paintRings(scene, project);
    this.#paintLabels(scene, project, highlighted);
    this.#canvas.dataset.links = isComplete ? 'all' : 'some';
  }

  /** The hovered or selected node, and those that are linked with it. */
  #findHighlighted(): Set<number> | null {
    const node = this.#hovered ?? this.#selected;
    const scene = this.#scene;
    if (node === null || !scene) return null;
    if (!this.#neighbours) {
      const lists: number[][] = Array.from({ length: scene.degree.length }, () => []);
      for (let i = 0; i + 1 < scene.edges.length; i += 2) {
        lists[scene.edges[i] ?? 0]?.push(scene.edges[i + 1] ?? 0);
        lists[scene.edges[i + 1] ?? 0]?.push(scene.edges[i] ?? 0);
      }
      this.#neighbours = lists.map((list) => Uint32Array.from(list));
    }
    return new Set([node, ...(this.#neighbours[node] ?? [])]);
  }

  #paintLinks(scene: Scene, project: (node: number) => [number, number], isComplete: boolean, highlighted: Set<number> | null): void {
    const context = this.#context;
    const { width, height } = this.#size;
    const { edges, visible } = scene;
    const drawn: number[] = []; // the indices of edges on the canvas
    for (let i = 0; i + 1 < edges.length; i += 2) {
      const [from, to] = [edges[i] ?? 0, edges[i + 1] ?? 0];
      if (!visible[from] || !visible[to]) continue;
      const [[ax, ay], [bx, by]] = [project(from), project(to)];
      if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > width || Math.max(ay, by) < 0 || Math.min(ay, by) > height) continue;
      drawn.push(i);
    }
    const step = isComplete ? 1 : Math.max(1, Math.ceil(drawn.length / MAX_MOVING_LINKS));
    const line = (i: number): void => {
      context.moveTo(...project(edges[i] ?? 0));
      context.lineTo(...project(edges[i + 1] ?? 0));
    };
    context.lineWidth = 1;
    context.strokeStyle = this.#palette.quiet;
    context.globalAlpha = (highlighted ? 0.35 : 1) * Math.min(0.5, Math.max(0.13, 200 / Math.sqrt(drawn.length * 400 + 1)));
    context.beginPath();
    for (let k = 0; k < drawn.length; k += step) line(drawn[k] ?? 0);
    context.stroke();
    context.globalAlpha = 1;
    const centre = this.#hovered ?? this.#selected;
    if (!highlighted || centre === null) return;
    context.strokeStyle = this.#palette.accent;
    context.lineWidth = 1.4;
    context.globalAlpha = 0.8;
    context.beginPath();
    for (const i of drawn) if (edges[i] === centre || edges[i + 1] === centre) line(i);
    context.stroke();
    context.globalAlpha = 1;
  }

  #paintNodes(scene: Scene, project: (node: number) => [number, number], highlighted: Set<number> | null): void {
    const context = this.#context;
    const { width, height } = this.#size;
    const batches: number[][] = Array.from({ length: COLOUR_COUNT }, () => []);
    for (let i = 0; i < scene.visible.length; i++) if (scene.visible[i]) batches[scene.colourOf[i] ?? 0]?.push(i);
    for (const faded of highlighted ? [true, false] : [false])
      batches.forEach((nodes, colour) => {
        context.fillStyle = this.#palette.groups[colour] ?? this.#palette.quiet;
        context.globalAlpha = faded ? 0.22 : 1;
        context.beginPath();
        for (const node of nodes) {
          if (highlighted && highlighted.has(node) === faded) continue;
          const [x, y] = project(node);
          const radius = this.#radiusOf(node);
          if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
          if (radius < 2.2) context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius); // looks the same, and takes a third
          else {
            context.moveTo(x + radius, y);
            context.arc(x, y, radius, 0, 2 * Math.PI);
          }
        }
        context.fill();
      });
    context.globalAlpha = 1;
  }

  #paintRings(scene: Scene, project: (node: number) => [number, number]): void {
    const context = this.#context;
    const ring = (node: number, colour: string, width: number): void => {
      if (!scene.visible[node]) return;
      const [x, y] = project(node);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, this.#radiusOf(node) + 3, 0, 2 * Math.PI);
      context.stroke();
    };
    for (const node of scene.found) ring(node, this.#palette.accent, 1.5);
    for (const node of [scene.root, this.#selected, this.#hovered]) if (node !== null) ring(node, this.#palette.ink, 2);
  }

  /** Draws names, of highlighted nodes first and then of the most linked ones, without overlaps and within the canvas. */
  #paintLabels(scene: Scene, project: (node: number) => [number, number], highlighted: Set<number> | null): void {
    const context = this.#context;
    const { width, height } = this.#size;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.lineJoin = 'round';
    context.lineWidth = 3;
    context.strokeStyle = this.#palette.paper;
    context.fillStyle = this.#palette.ink;
    const boxes: [number, number, number, number][] = [];
    const paintLabel = (node: number, isStrong: boolean): void => {
      const [x, y] = project(node);
      if (x < 0 || y < 0 || x > width || y > height) return;
      const full = scene.labels[node] ?? '';
      const text = full.length > MAX_LABEL_CHARS ? `${full.slice(0, MAX_LABEL_CHARS - 1)}…` : full;
      context.font = `${isStrong ? '600 13px' : '12px'} system-ui, sans-serif`;
      const half = context.measureText(text).width / 2 + 3;
      const gap = this.#radiusOf(node) + 3;
      const middle = 2 * half > width ? width / 2 : Math.min(Math.max(x, half), width - half);
      const top = y + gap + LABEL_HEIGHT > height ? y - gap - LABEL_HEIGHT : y + gap;
      const box: [number, number, number, number] = [middle - half, top, middle + half, top + LABEL_HEIGHT];
      if (boxes.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
      boxes.push(box);
      context.strokeText(text, middle, top);
      context.fillText(text, middle, top);
    };
    const centre = this.#hovered ?? this.#selected;
    for (const node of [centre, scene.root]) if (node !== null && scene.visible[node]) paintLabel(node, true);
    let candidates = 0;
    for (const node of this.#byDegree) {
      if (boxes.length >= MAX_LABELS) break;
      if (!scene.visible[node] || (highlighted && !highlighted.has(node))) continue;
      if (!highlighted && this.#radiusOf(node) < 4.5 && candidates > 12) continue;
      candidates++;
      paintLabel(node, false);
    }
  }
}

export function readPalette(canvas: HTMLElement): Palette {
  const style = getComputedStyle(canvas);
  // Through an element, because a canvas does not understand `light-dark()`.
  const probe = document.createElement('i');
  canvas.parentElement?.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    ink: style.color,
    quiet: colour('--quiet'),
    paper: colour('--card'),
    accent: colour('--main'),
    groups: Array.from({ length: COLOUR_COUNT }, (_, i) => colour(`--graph-${i}`)),
  };
  probe.remove();
  return palette;
}
