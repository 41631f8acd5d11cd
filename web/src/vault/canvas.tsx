// A canvas as a picture that one can pan and zoom: with the mouse, with fingers, and with the keyboard.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { href } from '../lib/router';
import { Empty, Failure, Icon, Loading, useLoad } from '../lib/ui';
import { render, renderNote } from '../note/render';
import { type CanvasData, type Card, type Edge, kindOf, type NoteData, titleOf } from './types';

const [SMALLEST, LARGEST] = [0.05, 4]; // zoom
const STEP = 60; // px that an arrow key pans
const MARGIN = 40; // px around the whole picture

interface Place { x: number; y: number; zoom: number }

export function Canvas({ path }: { path: string }): JSX.Element {
  const canvas = useLoad((signal) => api<CanvasData>('canvas', { query: { path }, signal }), [path]);
  if (canvas.state === 'failed') return <Failure error={canvas.error} retry={canvas.again} />;
  if (!canvas.value) return <Loading>Drawing the canvas…</Loading>;
  if (!canvas.value.cards.length) return <Empty icon="canvas" title="This canvas is empty"><p>{canvas.value.problems[0]?.message ?? 'Add cards to it in Obsidian, or ask an assistant to.'}</p></Empty>;
  return <Picture canvas={canvas.value} />;
}

function Picture({ canvas }: { canvas: CanvasData }): JSX.Element {
  const pane = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const fingers = useRef(new Map<number, PointerEvent>());
  const isMoved = useRef(false); // by the person; before that, all of it is shown

  const fit = () => {
    const node = pane.current;
    if (!node) return;
    isMoved.current = false;
    const [left, top] = [Math.min(...canvas.cards.map((card) => card.x)), Math.min(...canvas.cards.map((card) => card.y))];
    const width = Math.max(...canvas.cards.map((card) => card.x + card.width)) - left;
    const height = Math.max(...canvas.cards.map((card) => card.y + card.height)) - top;
    const zoom = clamp(Math.min((node.clientWidth - 2 * MARGIN) / width, (node.clientHeight - 2 * MARGIN) / height, 1));
    setPlace({ zoom, x: (node.clientWidth - width * zoom) / 2 - left * zoom, y: (node.clientHeight - height * zoom) / 2 - top * zoom });
  };
  useLayoutEffect(fit, [canvas]);
  useEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    let [width, height] = [node.clientWidth, node.clientHeight];
    // All of it stays in sight when the window changes, or what is in the middle stays there.
    const watch = new ResizeObserver(() => {
      const [wider, higher] = [node.clientWidth - width, node.clientHeight - height];
      [width, height] = [node.clientWidth, node.clientHeight];
      if (!isMoved.current) fit();
      else if (wider || higher) setPlace((now) => now && { ...now, x: now.x + wider / 2, y: now.y + higher / 2 });
    });
    watch.observe(node);
    return () => watch.disconnect();
  }, [canvas]);

  const zoomBy = (factor: number, x?: number, y?: number) => {
    isMoved.current = true;
    setPlace((now) => {
      const node = pane.current;
      if (!now || !node) return now;
      const [at, down] = [x ?? node.clientWidth / 2, y ?? node.clientHeight / 2];
      const zoom = clamp(now.zoom * factor);
      const ratio = zoom / now.zoom;
      return { zoom, x: at - (at - now.x) * ratio, y: down - (down - now.y) * ratio };
    });
  };
  const pan = (x: number, y: number) => {
    isMoved.current = true;
    setPlace((now) => now && { ...now, x: now.x + x, y: now.y + y });
  };

  useEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    // Not passive, so that the browser does not zoom the whole page.
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = node.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoomBy(Math.exp(-event.deltaY / 200), event.clientX - box.x, event.clientY - box.y);
      else pan(event.shiftKey ? -event.deltaY : -event.deltaX, event.shiftKey ? 0 : -event.deltaY);
    };
    node.addEventListener('wheel', wheel, { passive: false });
    return () => node.removeEventListener('wheel', wheel);
  }, []);

  const move = (event: PointerEvent) => {
    const before = fingers.current.get(event.pointerId);
    if (!before) return;
    const others = [...fingers.current.values()].filter((finger) => finger.pointerId !== event.pointerId);
    fingers.current.set(event.pointerId, event);
    const other = others[0];
    if (!other) return pan(event.clientX - before.clientX, event.clientY - before.clientY);
    const apart = (finger: PointerEvent) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
    const box = pane.current?.getBoundingClientRect();
    if (box) zoomBy(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - box.x, (event.clientY + other.clientY) / 2 - box.y);
  };
  const press = (event: KeyboardEvent) => {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => pan(STEP, 0), ArrowRight: () => pan(-STEP, 0), ArrowUp: () => pan(0, STEP), ArrowDown: () => pan(0, -STEP),
      '+': () => zoomBy(1.25), '=': () => zoomBy(1.25), '-': () => zoomBy(0.8), '0': fit,
    };
    const act = event.target === pane.current && !event.ctrlKey && !event.metaKey ? acts[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    act();
  };

  const cards = new Map(canvas.cards.map((card) => [card.id, card]));
  const transform = place ? `translate(${place.x}px, ${place.y}px) scale(${place.zoom})` : 'none';
  return (
    <div class="canvas-frame">
      <div class="canvas" ref={pane} tabIndex={0} role="application" aria-label={`Canvas ${titleOf(canvas.path)}: arrow keys pan, plus and minus zoom, 0 shows all`}
        onKeyDown={press}
        onPointerDown={(event) => {
          if (event.button > 0 || (event.target as Element).closest('a, input, button')) return;
          fingers.current.set(event.pointerId, event);
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={move} onPointerUp={(event) => fingers.current.delete(event.pointerId)} onPointerCancel={(event) => fingers.current.delete(event.pointerId)}>
        <div class="canvas-layer" style={{ transform, visibility: place ? 'visible' : 'hidden' }}>
          {canvas.cards.filter((card) => card.type === 'group').map((card) => <CardBox key={card.id} card={card} canvas={canvas} />)}
          <Edges edges={canvas.edges} cards={cards} />
          {canvas.cards.filter((card) => card.type !== 'group').map((card) => <CardBox key={card.id} card={card} canvas={canvas} />)}
          {canvas.edges.map((edge) => <Label key={edge.id} edge={edge} cards={cards} />)}
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

const clamp = (zoom: number): number => Math.min(LARGEST, Math.max(SMALLEST, zoom));

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
      <Content card={card} canvas={canvas} />
    </article>
  );
}

function Content({ card, canvas: { path: source, links } }: { card: Card; canvas: CanvasData }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [error, fail] = useState('');
  useEffect(() => {
    const node = place.current;
    if (!node) return;
    const around = [source];
    if (card.type === 'text') render(node, card.text ?? '', { path: source, links, hash: '', offset: 1, depth: 1, breaks: true, around });
    else if (card.path && kindOf(card.path) === 'note')
      api<NoteData>('note', { query: { path: card.path, subpath: card.subpath ?? '' } }).then(
        (note) => renderNote(node, { ...note, hash: '', readOnly: 'canvas' }, { depth: 1, around: [...around, note.path] }),
        (reason: Error) => fail(reason.message),
      );
  }, [card]);
  if (card.type === 'link') return <p class="canvas-link"><Icon name="link" /> {card.url && /^https?:/i.test(card.url) ? <a href={card.url} target="_blank" rel="noopener noreferrer">{card.url}</a> : card.url}</p>;
  if (card.type === 'other') return <p class="quiet">A card of the kind “{card.what}”, which is not shown here.</p>;
  if (card.type === 'text') return <div class="note-body" ref={place} />;
  if (!card.path) return <p class="md-absent">{card.file} is not in the vault.</p>;
  if (card.media && kindOf(card.path) === 'image') return <a href={href('note', card.path)}><img src={card.media} alt={titleOf(card.path)} draggable={false} /></a>;
  return (
    <>
      <a class="canvas-title" href={href('note', card.path, { to: (card.subpath ?? '').replace(/^#/, '') })}>{titleOf(card.path)}{card.subpath?.replaceAll('#', ' › ')}</a>
      {error ? <p class="md-absent">{error}</p> : <div class="note-body" ref={place} />}
    </>
  );
}

type Side = 'top' | 'right' | 'bottom' | 'left';
const WAYS: Record<Side, [number, number]> = { top: [0, -1], right: [1, 0], bottom: [0, 1], left: [-1, 0] };

function anchorOf(card: Card, side: Side): [number, number] {
  const [x, y] = WAYS[side];
  return [card.x + (card.width * (x + 1)) / 2, card.y + (card.height * (y + 1)) / 2];
}

/** The side of a card that faces another, for an edge that names none. */
function facing(card: Card, other: Card): Side {
  const x = other.x + other.width / 2 - card.x - card.width / 2;
  const y = other.y + other.height / 2 - card.y - card.height / 2;
  return Math.abs(x) > Math.abs(y) ? (x > 0 ? 'right' : 'left') : y > 0 ? 'bottom' : 'top';
}

/** The ends of an edge and the sides of the cards where they are. */
function endsOf(edge: Edge, cards: Map<string, Card>): { a: Side; b: Side; from: [number, number]; to: [number, number] } | null {
  const [from, to] = [cards.get(edge.from), cards.get(edge.to)];
  if (!from || !to) return null;
  const [a, b] = [(edge.fromSide in WAYS ? edge.fromSide : facing(from, to)) as Side, (edge.toSide in WAYS ? edge.toSide : facing(to, from)) as Side];
  return { a, b, from: anchorOf(from, a), to: anchorOf(to, b) };
}

function Label({ edge, cards }: { edge: Edge; cards: Map<string, Card> }): JSX.Element | null {
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
        const { a, b, from: [x1, y1], to: [x2, y2] } = ends;
        const bend = Math.max(40, Math.hypot(x2 - x1, y2 - y1) / 3);
        const curve = `M${x1} ${y1}C${x1 + WAYS[a][0] * bend} ${y1 + WAYS[a][1] * bend} ${x2 + WAYS[b][0] * bend} ${y2 + WAYS[b][1] * bend} ${x2} ${y2}`;
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
