// Icons: 24 by 24, drawn with lines. None is used alone: there is always a name beside it or in a label.

import type { JSX } from 'preact';

export const ICONS = {
  vault: 'M4 6.5A2.5 2.5 0 0 1 6.5 4H18v16H6.5A2.5 2.5 0 0 1 4 17.5zM4 17.5A2.5 2.5 0 0 1 6.5 15H18M9 8h5',
  graph: 'M6 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM9 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.9 6.4l8.2 1.2M6.5 8l2 8M16.6 9.5l-6.2 7',
  activity: 'M3 12h4l3-7 4 14 3-7h4',
  review: 'M5 4h14v16H5zM8.5 9h7M8.5 13h4M13 16.5l1.5 1.5 3-3.5',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l1.500 1.500h-15zM10 21h4',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.3 15.3 20 20',
  note: 'M6 3.5h8l4 4v13H6zM14 3.5v4h4M9 12h6M9 15.5h6',
  folder: 'M3.5 6.5h6l2 2.5h9v9.5h-17z',
  canvas: 'M4 5h7v6H4zM13 13h7v6h-7zM11 8h3.5a2 2 0 0 1 2 2v3',
  base: 'M4 5h16v14H4zM4 10h16M10 5v14',
  file: 'M6 3.5h8l4 4v13H6zM14 3.5v4h4',
  image: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 5M9 9.5a1 1 0 1 0 0-.01',
  audio: 'M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z',
  right: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.700-5.700L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.700 5.700L12 17',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  warning: 'M12 4 2.500 20h19zM12 10v5M12 17.500v.01',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.500 2',
  at: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM16 8v5.500a2.500 2.500 0 0 0 5 0V12a9 9 0 1 0-3.500 7.100',
  panel: 'M4 5h16v14H4zM15 5v14',
  undo: 'M9 7 4.500 11.500 9 16M5 11.500h9a5 5 0 0 1 0 10h-2',
  move: 'M4 7h9M4 12h6M4 17h9M16 8l4 4-4 4M20 12h-8',
  trash: 'M5 7h14M10 7V4.500h4V7M7 7l1 13h8l1-13M10.500 11v5M13.500 11v5',
  pause: 'M8 5v14M16 5v14',
  plus: 'M12 5v14M5 12h14',
  more: 'M6 12v.01M12 12v.01M18 12v.01',
  help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.500 9.500a2.500 2.500 0 1 1 3.700 2.200c-.8.450-1.200.9-1.200 1.800M12 16.500v.01',
  tip: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.500 10.900c.7.550 1 1.100 1 2.100h5c0-1 .3-1.550 1-2.100A6 6 0 0 0 12 3z',
  stop: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zM9 9l6 6M15 9l-6 6',
  task: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12.200l2.800 2.800L16 9.500',
  list: 'M9 6h11M9 12h11M9 18h11M4.500 6v.01M4.500 12v.01M4.500 18v.01',
  quote: 'M10 7H5v6h5zM10 13c0 2.500-1.500 4-4 4.500M19 7h-5v6h5zM19 13c0 2.500-1.500 4-4 4.500',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5.500M12 7.500v.01',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  out: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  today: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4M12 13.500v3',
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  );
}
