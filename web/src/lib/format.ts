// Numbers, sizes and times as people read them, in the language of the browser. Times are in seconds since 1970.

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }); // made once: that takes longer than many uses

/** How long ago, such as "2 hours ago". */
export function formatAgo(at: number, now = Date.now() / 1000): string {
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [[60, 'second'], [60, 'minute'], [24, 'hour'], [30, 'day'], [12, 'month'], [Infinity, 'year']];
  let count = at - now;
  for (const [size, unit] of steps) {
    if (Math.abs(count) < size) return relative.format(Math.round(count), unit);
    count /= size;
  }
  return '';
}

export const formatTime = (at: number): string => new Date(at * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export function formatDay(at: number): string {
  const date = new Date(at * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return date.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', ...(days > 300 && { year: 'numeric' }) });
}

/** A duration in milliseconds; '' for none. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return '';
  return ms >= 1000 ? `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s` : `${ms.toLocaleString(undefined, { maximumFractionDigits: ms < 10 ? 1 : 0 })} ms`;
}

export function formatBytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [count / 1000, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${units[unit]}`;
}

/** What a person calls the browser that sends this User-Agent, such as "Firefox on Linux". */
export function formatBrowserName(userAgent: string): string {
  const find = (names: [RegExp, string][]): string => names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? '';
  // In this order, because each of these also names those that follow.
  const browser = find([[/Edg/, 'Edge'], [/OPR/, 'Opera'], [/Firefox|FxiOS/, 'Firefox'], [/Chrom|CriOS/, 'Chrome'], [/Safari/, 'Safari']]) || 'A browser';
  const system = find([[/Android/, 'Android'], [/iPhone|iPad/, 'iOS'], [/Windows/, 'Windows'], [/Mac OS/, 'macOS'], [/Linux/, 'Linux']]);
  return system ? `${browser} on ${system}` : browser;
}

/** A count with its noun: "1 note", "2 notes". `isMore` marks a count that is known to be too low: "100+ notes". */
export const pluralize = (count: number, singular: string, plural = `${singular}s`, isMore = false): string =>
  `${count.toLocaleString()}${isMore ? '+' : ''} ${count === 1 ? singular : plural}`;

interface FileCounts {
  notes: number;
  canvases: number;
  bases: number;
  attachments: number;
}

/** How many files of each kind a vault contains; kinds without files are left out. */
export function formatFileCounts({ notes, canvases, bases, attachments }: FileCounts, separator: string): string {
  const parts = [pluralize(notes, 'note'), canvases && pluralize(canvases, 'canvas', 'canvases'), bases && pluralize(bases, 'base'), attachments && pluralize(attachments, 'attachment')];
  return parts.filter(Boolean).join(separator);
}
