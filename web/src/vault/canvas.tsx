// A canvas, which can be panned and zoomed with the mouse, with fingers, and with the keyboard.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { useLoad } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { kindOf, titleOf } from '../lib/paths';
import { href } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';
import { render, renderNote } from '../note/render';
import type { CanvasData, Card, Edge, NoteData } from './model';

const [MIN_ZOOM, MAX_ZOOM] = [0.05, 4];
const PAN_STEP = 60; // px for an arrow key
const MARGIN = 40; // px around everything

interface Camera { x: number; y: number; zoom: number }

export function Canvas({ path }: { path: string }): JSX.Element {
  const canvas = useLoad((signal) => api<CanvasData>('canvas', { query: { path }, signal }), [path]);
  if (canvas.state === 'failed') return <Failure error={canvas.error} retry={canvas.reload} />;
  if (!canvas.value) return <Loading>Drawing the canvas…</Loading>;
  if (!canvas.value.cards.length) return <EmptyState icon="canvas" title="This canvas is empty"><p>{canvas.value.problems[0]?.message ?? 'Add cards to it in Obsidian, or ask an assistant to.'}</p></EmptyState>;
  return <CanvasPane canvas={canvas.value} />;
}

function CanvasPane({ canvas }: { canvas: CanvasData }): JSX.Element {
  const pane = useRef<HTMLDivElement>(null);
  const [camera, setCamera] = useState<Camera | null>(null);
  const pointers = useRef(new Map<number, PointerEvent>());
  const isMoved = useRef(false); // by the person; until then, everything is shown

  const fit = () => {
    const node = pane.current;
    if (!node) return;
    isMoved.current = false;
    const [left, top] = [Math.min(...canvas.cards.map((card) => card.x)), Math.min(...canvas.cards.map((card) => card.y))];
    const width = Math.max(...canvas.cards.map((card) => card.x + card.width)) - left;
    const height = Math.max(...canvas.cards.map((card) => card.y + card.height)) - top;
    const zoom = clampZoom(Math.min((node.clientWidth - 2 * MARGIN) / width, (node.clientHeight - 2 * MARGIN) / height, 1));
    setCamera({ zoom, x: (node.clientWidth - width * zoom) / 2 - left * zoom, y: (node.clientHeight - height * zoom) / 2 - top * zoom });
  };
  useLayoutEffect(fit, [canvas]);
  useEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    let [width, height] = [node.clientWidth, node.clientHeight];
    // When the window is resized, everything stays visible, or what is in the middle stays there.
    const observer = new ResizeObserver(() => {
      const [dx, dy] = [node.clientWidth - width, node.clientHeight - height];
      [width, height] = [node.clientWidth, node.clientHeight];
      if (!isMoved.current) fit();
      else if (dx || dy) setCamera((last) => last && { ...last, x: last.x + dx / 2, y: last.y + dy / 2 });
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, [canvas]);

  const zoomBy = (factor: number, x?: number, y?: number) => {
    isMoved.current = true;
    setCamera((last) => {
      const node = pane.current;
      if (!last || !node) return last;
      const [centreX, centreY] = [x ?? node.clientWidth / 2, y ?? node.clientHeight / 2];
      const zoom = clampZoom(last.zoom * factor);
      const ratio = zoom / last.zoom;
      return { zoom, x: centreX - (centreX - last.x) * ratio, y: centreY - (centreY - last.y) * ratio };
    });
  };
  const panBy = (dx: number, dy: number) => {
    isMoved.current = true;
    setCamera((last) => last && { ...last, x: last.x + dx, y: last.y + dy });
  };

  useEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    // Not passive, so that the browser does not zoom the whole page.
    const handleWheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = node.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoomBy(Math.exp(-event.deltaY / 200), event.clientX - box.x, event.clientY - box.y);
      else panBy(event.shiftKey ? -event.deltaY : -event.deltaX, event.shiftKey ? 0 : -event.deltaY);
    };
    node.addEventListener('wheel', handleWheel, { passive: false });
    return () => node.removeEventListener('wheel', handleWheel);
  }, []);

  const handlePointerMove = (event: PointerEvent) => {
    const before = pointers.current.get(event.pointerId);
    if (!before) return;
    const others = [...pointers.current.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
    pointers.current.set(event.pointerId, event);
    const other = others[0];
    if (!other) return panBy(event.clientX - before.clientX, event.clientY - before.clientY);
    const distanceOf = (pointer: PointerEvent) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY) || 1;
    const box = pane.current?.getBoundingClientRect();
    if (box) zoomBy(distanceOf(event) / distanceOf(before), (event.clientX + other.clientX) / 2 - box.x, (event.clientY + other.clientY) / 2 - box.y);
  };
  const handleKeyDown = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => panBy(PAN_STEP, 0), ArrowRight: () => panBy(-PAN_STEP, 0), ArrowUp: () => panBy(0, PAN_STEP), ArrowDown: () => panBy(0, -PAN_STEP),
      '+': () => zoomBy(1.25), '=': () => zoomBy(1.25), '-': () => zoomBy(0.8), '0': fit,
    };
    const run = event.target === pane.current && !event.ctrlKey && !event.metaKey ? actions[event.key] : undefined;
    if (!run) return;
    event.preventDefault();
    run();
  };

  const cards = new Map(canvas.cards.map((card) => [card.id, card]));
  const transform = camera ? `translate(${camera.x}px, ${camera.y}px) scale(${camera.zoom})` : 'none';
  return (
    <div class="canvas-frame">
      <div class="canvas" ref={pane} tabIndex={0} role="application" aria-label={`Canvas ${titleOf(canvas.path)}: arrow keys pan, plus and minus zoom, 0 shows all`}
        onKeyDown={handleKeyDown}
        onPointerDown={(event) => {
          if (event.button > 0 || (event.target as Element).closest('a, input, button')) return;
          pointers.current.set(event.pointerId, event);
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={handlePointerMove} onPointerUp={(event) => pointers.current.delete(event.pointerId)} onPointerCancel={(event) => pointers.current.delete(event.pointerId)}>
        <div class="canvas-layer" style={{ transform, visibility: camera ? 'visible' : 'hidden' }}>
          {canvas.cards.filter((card) => card.type === 'group').map((card) => <CardBox key={card.id} card={card} canvas={canvas} />)}
          <Edges edges={canvas.edges} cards={cards} />
          {canvas.cards.filter((card) => card.type !== 'group').map((card) => <CardBox key={card.id} card={card} canvas={canvas} />)}
          {canvas.edges.map((edge) => <EdgeLabel key={edge.id} edge={edge} cards={cards} />)}
        </div>
      </div>
      <div class="canvas-tools" role="toolbar" aria-label="View of the canvas">
        <button type="button" aria-label="Zoom in" onClick={() => zoomBy(1.25)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomBy(0.8)}>−</button>
        <button type="button" onClick={fit}>Show all</button>
      </div>
    </div>
  );
}

const clampZoom = (zoom: number): number => Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, zoom));

/** A colour of JSON Canvas: one of six, or a hex value. */
function colourOf(color: string): string {
  if (/^[1-6]$/.test(color)) return `var(--canvas-${color})`;
  return /^#[0-9a-f]{3,8}$/i.test(color) ? color : '';
}

function CardBox({ card, canvas }: { card: Card; canvas: CanvasData }): JSX.Element {
  const colour = colourOf(card.color);
  const style = { left: `${card.x}px`, top: `${card.y}px`, width: `${card.width}px`, height: `${card.height}px`, ...(colour && { '--card-colour': colour }) };
  if (card.type === 'group') return <div class="canvas-group" style={style}><span>{card.label}</span></div>;
  return (
    <article class="canvas-card" style={style} aria-label={card.file ? titleOf(card.file) : card.type === 'text' ? 'Text' : (card.url ?? card.type)}>
      <CardContent card={card} canvas={canvas} />
    </article>
  );
}

function CardContent({ card, canvas: { path: source, links } }: { card: Card; canvas: CanvasData }): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    const node = body.current;
    if (!node) return;
    const ancestors = [source];
    if (card.type === 'text') render(node, card.text ?? '', { path: source, links, hash: '', offset: 1, depth: 1, breaks: true, ancestors });
    else if (card.path && kindOf(card.path) === 'note')
      api<NoteData>('note', { query: { path: card.path, subpath: card.subpath ?? '' } }).then(
        (note) => renderNote(node, { ...note, hash: '', readOnly: 'canvas' }, { depth: 1, ancestors: [...ancestors, note.path] }),
        (reason: Error) => setError(reason.message),
      );
  }, [card]);
  if (card.type === 'link') return <p class="canvas-link"><Icon name="link" /> {card.url && /^https?:/i.test(card.url) ? <a href={card.url} target="_blank" rel="noopener noreferrer">{card.url}</a> : card.url}</p>;
  if (card.type === 'other') return <p class="quiet">Cards of the type “{card.what}” are not shown here.</p>;
  if (card.type === 'text') return <div class="note-body" ref={body} />;
  if (!card.path) return <p class="md-absent">{card.file} is not in the vault.</p>;
  if (card.media && kindOf(card.path) === 'image') return <a href={href('note', card.path)}><img src={card.media} alt={titleOf(card.path)} draggable={false} /></a>;
  return (
    <>
      <a class="canvas-title" href={href('note', card.path, { to: (card.subpath ?? '').replace(/^#/, '') })}>{titleOf(card.path)}{card.subpath?.replaceAll('#', ' › ')}</a>
      {error ? <p class="md-absent">{error}</p> : <div class="note-body" ref={body} />}
    </>
  );
}

type Side = 'top' | 'right' | 'bottom' | 'left';
const DIRECTIONS: Record<Side, [number, number]> = { top: [0, -1], right: [1, 0], bottom: [0, 1], left: [-1, 0] };

function anchorOf(card: Card, side: Side): [number, number] {
  const [x, y] = DIRECTIONS[side];
  return [card.x + (card.width * (x + 1)) / 2, card.y + (card.height * (y + 1)) / 2];
}

/** The side of a card that faces another, for an edge that names none. */
function facingSide(card: Card, other: Card): Side {
  const x = other.x + other.width / 2 - card.x - card.width / 2;
  const y = other.y + other.height / 2 - card.y - card.height / 2;
  return Math.abs(x) > Math.abs(y) ? (x > 0 ? 'right' : 'left') : y > 0 ? 'bottom' : 'top';
}

/** The ends of an edge, and the sides of the cards that they touch. */
function endsOf(edge: Edge, cards: Map<string, Card>): { fromSide: Side; toSide: Side; from: [number, number]; to: [number, number] } | null {
  const [from, to] = [cards.get(edge.from), cards.get(edge.to)];
  if (!from || !to) return null;
  const [fromSide, toSide] = [(edge.fromSide in DIRECTIONS ? edge.fromSide : facingSide(from, to)) as Side, (edge.toSide in DIRECTIONS ? edge.toSide : facingSide(to, from)) as Side];
  return { fromSide, toSide, from: anchorOf(from, fromSide), to: anchorOf(to, toSide) };
}

function EdgeLabel({ edge, cards }: { edge: Edge; cards: Map<string, Card> }): JSX.Element | null {
  const ends = edge.label ? endsOf(edge, cards) : null;
  return ends && <span class="canvas-label" style={{ left: `${(ends.from[0] + ends.to[0]) / 2}px`, top: `${(ends.from[1] + ends.to[1]) / 2}px` }}>{edge.label}</span>;
}

function Edges({ edges, cards }: { edges: Edge[]; cards: Map<string, Card> }): JSX.Element {
  return (
    <svg class="canvas-edges" aria-hidden="true">
      <defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" /></marker></defs>
      {edges.map((edge) => {
        const ends = endsOf(edge, cards);
        if (!ends) return null;
        const { fromSide, toSide, from: [x1, y1], to: [x2, y2] } = ends;
        const bend = Math.max(40, Math.hypot(x2 - x1, y2 - y1) / 3);
        const curve = `M${x1} ${y1}C${x1 + DIRECTIONS[fromSide][0] * bend} ${y1 + DIRECTIONS[fromSide][1] * bend} ${x2 + DIRECTIONS[toSide][0] * bend} ${y2 + DIRECTIONS[toSide][1] * bend} ${x2} ${y2}`;
        const colour = colourOf(edge.color);
        return (
          <g key={edge.id} style={colour ? { color: colour } : {}}>
            <path d={curve} marker-end={edge.toArrow ? 'url(#arrow)' : undefined} marker-start={edge.fromArrow ? 'url(#arrow)' : undefined} />
          </g>
        );
      })}
    </svg>
  );
}
