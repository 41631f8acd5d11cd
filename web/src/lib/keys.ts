// Keyboard shortcuts.

import { useLayoutEffect, useRef } from 'preact/hooks';

const TEXT_FIELDS = 'input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]:not([contenteditable=false]), [role=textbox]:not([aria-readonly=true])';

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** The modifier key of commands, as the keyboard labels it. */
export const MOD = isApple ? '⌘' : 'Ctrl';

/** Whether exactly that key is held. On a Mac, Control is for editing text. */
export const hasModKey = (event: KeyboardEvent): boolean => (isApple ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) && !event.altKey && !event.shiftKey;

export function isTyping(event: Event): boolean {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest(TEXT_FIELDS) !== null;
}

/** Whether a key is meant as a shortcut: nobody else has handled it, no modifier is held and no text is being typed. */
export const isShortcut = (event: KeyboardEvent): boolean => !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented && !isTyping(event);

/** Single-key shortcuts of a view. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Not after the next frame: a person who sees the view can already press a key.
  useLayoutEffect(() => {
    const handleKeyDown = (event: KeyboardEvent) => {
      const run = isShortcut(event) ? latest.current[event.key] : undefined;
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener('keydown', handleKeyDown);
    return () => removeEventListener('keydown', handleKeyDown);
  }, []);
}
