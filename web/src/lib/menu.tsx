// A button that opens a list of things to do: arrow keys lead through it, Escape and a press elsewhere close it.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './ui';

export interface Act {
  id?: string;
  icon: IconName;
  label: string;
  /** The key that does the same. */
  keys?: string;
  bad?: boolean;
  /** Where it leads; otherwise what it does. */
  href?: string;
  run?: () => void;
}

export function Menu({ label, acts, children }: { label: string; acts: Act[]; children?: ComponentChildren }): JSX.Element {
  const [isOpen, open] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const items = (): HTMLElement[] => [...(place.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  useLayoutEffect(() => void (isOpen && items()[0]?.focus()), [isOpen]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const press = (event: Event): void => void (event.target instanceof Node && !place.current?.contains(event.target) && open(false));
    document.addEventListener('pointerdown', press);
    return () => document.removeEventListener('pointerdown', press);
  }, [isOpen]);
  // The button has the focus again before anything is done: a question that is asked next returns it there.
  const close = (): void => {
    open(false);
    button.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (to !== undefined && isOpen) all[(to + all.length) % all.length]?.focus();
    else if (event.key === 'ArrowDown') open(true);
    else if (event.key === 'Tab') return open(false);
    else return;
    event.preventDefault();
  };
  const choose = (run: (() => void) | undefined): void => {
    close();
    run?.();
  };
  return (
    <div class="menu" ref={place} onKeyDown={isOpen || document.activeElement === button.current ? press : undefined}>
      <button ref={button} type="button" class="menu-button" aria-haspopup="menu" aria-expanded={isOpen} aria-label={label} title={label} onClick={() => open(!isOpen)}>{children ?? <Icon name="more" />}</button>
      {isOpen && (
        <div class="menu-list card" role="menu" aria-label={label}>
          {acts.map(({ id, icon, label: name, keys, bad, href, run }) => {
            const inside = <><Icon name={icon} /><span>{name}</span>{keys && <kbd aria-hidden="true">{keys}</kbd>}</>;
            const shared = { key: name, id, role: 'menuitem' as const, tabIndex: -1, class: bad ? 'bad' : undefined };
            return href ? <a {...shared} href={href} onClick={() => open(false)}>{inside}</a> : <button {...shared} type="button" onClick={() => choose(run)}>{inside}</button>;
          })}
        </div>
      )}
    </div>
  );
}
