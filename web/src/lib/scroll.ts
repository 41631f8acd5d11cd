// Scrolling on behalf of the person, until they scroll themselves.

const GESTURES = ['wheel', 'touchmove', 'keydown', 'pointerdown']; // by which a person starts to scroll
const RESTORE_MS = 10_000; // how long the content may take to reach its former height

/** Scrolls as soon as the content is high enough, unless the person scrolls first or `isCurrent` no longer holds. */
export function restoreScroll(container: HTMLElement, top: number, isCurrent: () => boolean): void {
  const until = performance.now() + RESTORE_MS;
  const cancel = new AbortController();
  for (const gesture of GESTURES) container.addEventListener(gesture, () => cancel.abort(), { signal: cancel.signal, passive: true });
  const attempt = () => {
    if (cancel.signal.aborted || !isCurrent()) return cancel.abort();
    container.scrollTop = top;
    if (container.scrollTop < top - 1 && performance.now() < until) requestAnimationFrame(attempt);
    else cancel.abort();
  };
  attempt();
}

/** Scrolls to an element, and again while what is above it still loads. The result ends that. */
export function keepInView(element: HTMLElement | null): () => void {
  const cancel = new AbortController();
  const observer = new ResizeObserver(() => element?.scrollIntoView({ block: 'start' }));
  if (element?.parentElement) observer.observe(element.parentElement);
  for (const gesture of GESTURES) addEventListener(gesture, () => observer.disconnect(), { signal: cancel.signal, passive: true });
  return () => (observer.disconnect(), cancel.abort());
}
