// Draws a graph on a canvas, and lets a person move about in it.
//
// Everything is drawn when it stands still; while it moves only as many links as a slow machine draws in time. A
// picture of 10,000 notes and 25,000 links takes 90 ms without a graphics card, one with 3,000 links 20 ms.

import { GROUPS } from './model';

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

export interface Look {
  ink: string;
  quiet: string;
  paper: string;
  accent: string;
  groups: string[];
}

interface Handlers {
  open: (node: number) => void;
  hover: (node: number | null) => void;
  /** Where the picture is a part of a longer page, the wheel moves the page, and zooms with Control alone. */
  scrolls?: boolean;
}

const LINKS_MOVING = 3000; // links drawn while something moves
const STILL_MS = 140; // without motion for this long, everything is drawn
const LABELS = 60; // names drawn at once; more would cover each other
const NEAR_PX = 8; // how far beside a node a pointer still means it
const CLICK_PX = 5; // a pointer that moved less than this was a click
const [MIN_ZOOM, MAX_ZOOM] = [0.02, 12];
const DENSITY = 2; // device pixels per pixel at most: more costs time and shows nothing more

export class Picture {
  #canvas: HTMLCanvasElement;
  #pen: CanvasRenderingContext2D;
  #on: Handlers;
  #scene: Scene | null = null;
  #places: Float32Array = new Float32Array();
  #radius = new Float32Array();
  #byDegree = new Uint32Array();
  #neighbours: Uint32Array[] | null = null;
  #look: Look = { ink: '#000', quiet: '#777', paper: '#fff', accent: '#55f', groups: [] };
  #camera = { x: 0, y: 0, zoom: 1 };
  #size = { width: 1, height: 1 };
  #hovered: number | null = null;
  #chosen: number | null = null;
  #fitted = true;
  #frame = 0;
  #still = 0;
  #pointers = new Map<number, { x: number; y: number }>();
  #pressed: { x: number; y: number; moved: boolean } | null = null;
  #ends = new AbortController();
  #watch: ResizeObserver;

  constructor(canvas: HTMLCanvasElement, on: Handlers) {
    this.#canvas = canvas;
    this.#on = on;
    const pen = canvas.getContext('2d', { alpha: true });
    if (!pen) throw new Error('This browser cannot draw the graph. The list shows the same notes.');
    this.#pen = pen;
    const { signal } = this.#ends;
    canvas.addEventListener('pointerdown', (event) => this.#press(event), { signal });
    canvas.addEventListener('pointermove', (event) => this.#move(event), { signal });
    canvas.addEventListener('pointerup', (event) => this.#release(event), { signal });
    canvas.addEventListener('pointercancel', (event) => this.#pointers.delete(event.pointerId), { signal });
    canvas.addEventListener('pointerleave', () => this.#pointers.size || this.#hover(null), { signal });
    canvas.addEventListener('wheel', (event) => this.#wheel(event), { signal, passive: false });
    canvas.addEventListener('keydown', (event) => this.#key(event), { signal });
    this.#watch = new ResizeObserver(() => this.#resize());
    this.#watch.observe(canvas);
    this.#resize();
  }

  dispose(): void {
    this.#ends.abort();
    this.#watch.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#still);
  }

  show(scene: Scene): void {
    const isNew = scene.edges !== this.#scene?.edges;
    this.#scene = scene;
    if (isNew) {
      this.#radius = Float32Array.from(scene.degree, (degree) => 2.2 + Math.sqrt(degree) * 0.9);
      this.#byDegree = Uint32Array.from(scene.degree.keys()).sort((a, b) => (scene.degree[b] ?? 0) - (scene.degree[a] ?? 0));
      this.#neighbours = null;
      this.#hovered = this.#chosen = null;
      this.#fitted = true;
    }
    this.#draw();
  }

  dress(look: Look): void {
    this.#look = look;
    this.#draw();
  }

  place(places: Float32Array): void {
    this.#places = places;
    if (this.#fitted) this.#fit();
    this.#draw({ moving: true });
  }

  /** Shows everything, and keeps doing so while the layout changes, until a person moves the picture. */
  fit(): void {
    this.#fitted = true;
    this.#fit();
    this.#draw();
  }

  zoomBy(factor: number, x = this.#size.width / 2, y = this.#size.height / 2): void {
    this.#fitted = false;
    const camera = this.#camera;
    const zoom = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, camera.zoom * factor));
    const [dx, dy] = [x - this.#size.width / 2, y - this.#size.height / 2];
    camera.x += dx / camera.zoom - dx / zoom;
    camera.y += dy / camera.zoom - dy / zoom;
    camera.zoom = zoom;
    this.#draw({ moving: true });
  }

  moveBy(dx: number, dy: number): void {
    this.#fitted = false;
    this.#camera.x -= dx / this.#camera.zoom;
    this.#camera.y -= dy / this.#camera.zoom;
    this.#draw({ moving: true });
  }

  /** Centres a node and marks it and its links; null removes the mark. */
  choose(node: number | null): void {
    this.#chosen = node;
    if (node !== null && 2 * node < this.#places.length) {
      this.#fitted = false;
      this.#camera.x = this.#places[2 * node] ?? 0;
      this.#camera.y = this.#places[2 * node + 1] ?? 0;
      this.#camera.zoom = Math.max(this.#camera.zoom, 1.6);
    }
    this.#draw();
  }

  #resize(): void {
    const box = this.#canvas.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const density = Math.min(DENSITY, devicePixelRatio || 1);
    this.#size = { width: box.width, height: box.height };
    this.#canvas.width = Math.round(box.width * density);
    this.#canvas.height = Math.round(box.height * density);
    if (this.#fitted) this.#fit();
    this.#paint(true); // at once: a canvas that was resized is blank
  }

  #fit(): void {
    const places = this.#places;
    const scene = this.#scene;
    if (!scene || !places.length) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < scene.visible.length; i++) {
      if (!scene.visible[i]) continue;
      const [x, y] = [places[2 * i] ?? 0, places[2 * i + 1] ?? 0];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
    if (left > right) return;
    const margin = 40;
    const across = Math.max(1, this.#size.width - 2 * margin) / Math.max(1, right - left);
    const down = Math.max(1, this.#size.height - 2 * margin) / Math.max(1, bottom - top);
    this.#camera = { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.min(3.4, Math.max(MIN_ZOOM, Math.min(across, down))) };
  }

  // moving about

  #at(event: PointerEvent | WheelEvent): { x: number; y: number } {
    const box = this.#canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const at = this.#at(event);
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size === 1) this.#pressed = { ...at, moved: false };
    else if (this.#pressed) this.#pressed.moved = true; // two fingers are never a click
  }

  #move(event: PointerEvent): void {
    const at = this.#at(event);
    const last = this.#pointers.get(event.pointerId);
    if (!last) return this.#hover(this.#nodeAt(at.x, at.y));
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, at);
    if (other) {
      const [before, now] = [Math.hypot(last.x - other.x, last.y - other.y), Math.hypot(at.x - other.x, at.y - other.y)];
      this.moveBy((at.x - last.x) / 2, (at.y - last.y) / 2);
      if (before > 0) this.zoomBy(now / before, (at.x + other.x) / 2, (at.y + other.y) / 2);
      return;
    }
    const pressed = this.#pressed;
    if (pressed && !pressed.moved && Math.hypot(at.x - pressed.x, at.y - pressed.y) < CLICK_PX) return;
    if (pressed) pressed.moved = true;
    this.moveBy(at.x - last.x, at.y - last.y);
  }

  #release(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    if (this.#pointers.size) return;
    const pressed = this.#pressed;
    this.#pressed = null;
    if (!pressed || pressed.moved) return;
    const node = this.#nodeAt(pressed.x, pressed.y);
    if (node !== null) this.#on.open(node);
  }

  #wheel(event: WheelEvent): void {
    if (this.#on.scrolls && !event.ctrlKey) return;
    event.preventDefault();
    const at = this.#at(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    this.zoomBy(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), at.x, at.y);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 60;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.moveBy(step, 0),
      ArrowRight: () => this.moveBy(-step, 0),
      ArrowUp: () => this.moveBy(0, step),
      ArrowDown: () => this.moveBy(0, -step),
      '+': () => this.zoomBy(1.3),
      '=': () => this.zoomBy(1.3),
      '-': () => this.zoomBy(1 / 1.3),
      '0': () => this.fit(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #hover(node: number | null): void {
    if (node === this.#hovered) return;
    this.#hovered = node;
    this.#canvas.style.cursor = node === null ? '' : 'pointer';
    this.#on.hover(node);
    this.#draw();
  }

  /** The visible node nearest to a point of the canvas. Looking at all of them takes less than 0.1 ms for 10,000. */
  #nodeAt(x: number, y: number): number | null {
    const scene = this.#scene;
    if (!scene || !this.#places.length) return null;
    const { zoom } = this.#camera;
    const [wx, wy] = this.#toWorld(x, y);
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < scene.visible.length; i++) {
      if (!scene.visible[i]) continue;
      const distance = Math.hypot((this.#places[2 * i] ?? 0) - wx, (this.#places[2 * i + 1] ?? 0) - wy) * zoom;
      const beyond = distance - this.#shown(i);
      if (beyond < NEAR_PX && beyond < least) [best, least] = [i, beyond];
    }
    return best < 0 ? null : best;
  }

  #toWorld(x: number, y: number): [number, number] {
    const { x: cx, y: cy, zoom } = this.#camera;
    return [cx + (x - this.#size.width / 2) / zoom, cy + (y - this.#size.height / 2) / zoom];
  }

  /** The radius of a node on the canvas: it grows more slowly than the picture, so that nodes do not become blots. */
  #shown(node: number): number {
    return Math.max(1.1, (this.#radius[node] ?? 1) * Math.sqrt(Math.min(4, this.#camera.zoom)));
  }

  // drawing

  #draw({ moving = false } = {}): void {
    clearTimeout(this.#still);
    if (moving) this.#still = setTimeout(() => this.#draw(), STILL_MS);
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint(!moving));
  }

  #paint(whole: boolean): void {
    const pen = this.#pen;
    const scene = this.#scene;
    const density = this.#canvas.width / this.#size.width;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, this.#size.width, this.#size.height);
    if (!scene || this.#places.length < 2 * scene.visible.length) return;
    const near = this.#marked();
    const { x, y, zoom } = this.#camera;
    const [mx, my] = [this.#size.width / 2 - x * zoom, this.#size.height / 2 - y * zoom];
    const at = (node: number): [number, number] => [(this.#places[2 * node] ?? 0) * zoom + mx, (this.#places[2 * node + 1] ?? 0) * zoom + my];
    this.#paintLinks(scene, at, whole, near);
    this.#paintNodes(scene, at, near);
    this.#paintRings(scene, at);
    this.#paintLabels(scene, at, near);
    this.#canvas.dataset.links = whole ? 'all' : 'some';
  }

  /** The node that is hovered or chosen, and those that are linked with it. */
  #marked(): Set<number> | null {
    const node = this.#hovered ?? this.#chosen;
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

  #paintLinks(scene: Scene, at: (node: number) => [number, number], whole: boolean, near: Set<number> | null): void {
    const pen = this.#pen;
    const { width, height } = this.#size;
    const { edges, visible } = scene;
    const seen: number[] = [];
    for (let i = 0; i + 1 < edges.length; i += 2) {
      const [from, to] = [edges[i] ?? 0, edges[i + 1] ?? 0];
      if (!visible[from] || !visible[to]) continue;
      const [[ax, ay], [bx, by]] = [at(from), at(to)];
      if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > width || Math.max(ay, by) < 0 || Math.min(ay, by) > height) continue;
      seen.push(i);
    }
    const every = whole ? 1 : Math.max(1, Math.ceil(seen.length / LINKS_MOVING));
    const line = (i: number): void => {
      pen.moveTo(...at(edges[i] ?? 0));
      pen.lineTo(...at(edges[i + 1] ?? 0));
    };
    pen.lineWidth = 1;
    pen.strokeStyle = this.#look.quiet;
    pen.globalAlpha = (near ? 0.35 : 1) * Math.min(0.5, Math.max(0.13, 200 / Math.sqrt(seen.length * 400 + 1)));
    pen.beginPath();
    for (let k = 0; k < seen.length; k += every) line(seen[k] ?? 0);
    pen.stroke();
    pen.globalAlpha = 1;
    const centre = this.#hovered ?? this.#chosen;
    if (!near || centre === null) return;
    pen.strokeStyle = this.#look.accent;
    pen.lineWidth = 1.4;
    pen.globalAlpha = 0.8;
    pen.beginPath();
    for (const i of seen) if (edges[i] === centre || edges[i + 1] === centre) line(i);
    pen.stroke();
    pen.globalAlpha = 1;
  }

  #paintNodes(scene: Scene, at: (node: number) => [number, number], near: Set<number> | null): void {
    const pen = this.#pen;
    const { width, height } = this.#size;
    const batches: number[][] = Array.from({ length: GROUPS }, () => []);
    for (let i = 0; i < scene.visible.length; i++) if (scene.visible[i]) batches[scene.colourOf[i] ?? 0]?.push(i);
    for (const faded of near ? [true, false] : [false])
      batches.forEach((nodes, colour) => {
        pen.fillStyle = this.#look.groups[colour] ?? this.#look.quiet;
        pen.globalAlpha = faded ? 0.22 : 1;
        pen.beginPath();
        for (const node of nodes) {
          if (near && near.has(node) === faded) continue;
          const [x, y] = at(node);
          const radius = this.#shown(node);
          if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
          if (radius < 2.2) pen.fillRect(x - radius, y - radius, 2 * radius, 2 * radius); // looks the same, and takes a third
          else {
            pen.moveTo(x + radius, y);
            pen.arc(x, y, radius, 0, 2 * Math.PI);
          }
        }
        pen.fill();
      });
    pen.globalAlpha = 1;
  }

  #paintRings(scene: Scene, at: (node: number) => [number, number]): void {
    const pen = this.#pen;
    const ring = (node: number, colour: string, width: number): void => {
      if (!scene.visible[node]) return;
      const [x, y] = at(node);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      pen.arc(x, y, this.#shown(node) + 3, 0, 2 * Math.PI);
      pen.stroke();
    };
    for (const node of scene.found) ring(node, this.#look.accent, 1.5);
    for (const node of [scene.root, this.#chosen, this.#hovered]) if (node !== null) ring(node, this.#look.ink, 2);
  }

  /** Names, the best linked notes first, none over another; those of marked nodes before all. */
  #paintLabels(scene: Scene, at: (node: number) => [number, number], near: Set<number> | null): void {
    const pen = this.#pen;
    const { width, height } = this.#size;
    pen.textAlign = 'center';
    pen.textBaseline = 'top';
    pen.lineJoin = 'round';
    pen.lineWidth = 3;
    pen.strokeStyle = this.#look.paper;
    pen.fillStyle = this.#look.ink;
    const taken: [number, number, number, number][] = [];
    const name = (node: number, strong: boolean): void => {
      const [x, y] = at(node);
      if (x < 0 || y < 0 || x > width || y > height) return;
      const full = scene.labels[node] ?? '';
      const text = full.length > 34 ? `${full.slice(0, 33)}…` : full;
      pen.font = `${strong ? '600 13px' : '12px'} system-ui, sans-serif`;
      const [half, top] = [pen.measureText(text).width / 2 + 3, y + this.#shown(node) + 3];
      const box: [number, number, number, number] = [x - half, top, x + half, top + 16];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
      taken.push(box);
      pen.strokeText(text, x, top);
      pen.fillText(text, x, top);
    };
    const centre = this.#hovered ?? this.#chosen;
    for (const node of [centre, scene.root]) if (node !== null && scene.visible[node]) name(node, true);
    let looked = 0;
    for (const node of this.#byDegree) {
      if (taken.length >= LABELS) break;
      if (!scene.visible[node] || (near && !near.has(node))) continue;
      if (!near && this.#shown(node) < 4.5 && looked > 12) continue;
      looked++;
      name(node, false);
    }
  }
}

export function lookOf(canvas: HTMLElement): Look {
  const style = getComputedStyle(canvas);
  // Colours of the stylesheet as the canvas understands them: `light-dark()` is resolved only in properties.
  const probe = document.createElement('i');
  canvas.parentElement?.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const look = {
    ink: style.color,
    quiet: colour('--quiet'),
    paper: colour('--card'),
    accent: colour('--main'),
    groups: Array.from({ length: GROUPS }, (_, i) => colour(`--graph-${i}`)),
  };
  probe.remove();
  return look;
}
