// A button that opens a menu. Arrow keys move in it; Escape and a press elsewhere close it.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icons';

export interface MenuItem {
  id?: string;
  icon: IconName;
  label: string;
  /** The shortcut for the same, shown beside it. */
  keys?: string;
  isDangerous?: boolean;
  /** Where it leads; otherwise `run` is called. */
  href?: string;
  run?: () => void;
}

export function Menu({ label, items, children }: { label: string; items: MenuItem[]; children?: ComponentChildren }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const findItems = (): HTMLElement[] => [...(container.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  useLayoutEffect(() => void (isOpen && findItems()[0]?.focus()), [isOpen]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const handlePress = (event: Event): void => void (event.target instanceof Node && !container.current?.contains(event.target) && setOpen(false));
    document.addEventListener('pointerdown', handlePress);
    return () => document.removeEventListener('pointerdown', handlePress);
  }, [isOpen]);
  // The button gets the focus back before the item runs: a dialog that it opens will return the focus there.
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    const elements = findItems();
    const at = elements.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: elements.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (to !== undefined && isOpen) elements[(to + elements.length) % elements.length]?.focus();
    else if (event.key === 'ArrowDown') setOpen(true);
    else if (event.key === 'Tab') return setOpen(false);
    else return;
    event.preventDefault();
  };
  const choose = (run: (() => void) | undefined): void => {
    close();
    run?.();
  };
  return (
    <div class="menu" ref={container} onKeyDown={isOpen || document.activeElement === button.current ? handleKeyDown : undefined}>
      <button ref={button} type="button" class="menu-button" aria-haspopup="menu" aria-expanded={isOpen} aria-label={label} title={label} onClick={() => setOpen(!isOpen)}>{children ?? <Icon name="more" />}</button>
      {isOpen && (
        <div class="menu-list card" role="menu" aria-label={label}>
          {items.map(({ id, icon, label: name, keys, isDangerous, href, run }) => {
            const content = <><Icon name={icon} /><span>{name}</span>{keys && <kbd aria-hidden="true">{keys}</kbd>}</>;
            const shared = { key: name, id, role: 'menuitem' as const, tabIndex: -1, class: isDangerous ? 'bad' : undefined };
            return href ? <a {...shared} href={href} onClick={() => setOpen(false)}>{content}</a> : <button {...shared} type="button" onClick={() => choose(run)}>{content}</button>;
          })}
        </div>
      )}
    </div>
  );
}
