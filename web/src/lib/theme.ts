// Light or dark: as the system says, or as chosen in Settings for this browser.

const KEY = 'theme';

export const THEMES = [
  { value: '', title: 'Same as the system' },
  { value: 'light', title: 'Light' },
  { value: 'dark', title: 'Dark' },
];

export const getTheme = (): string => {
  const chosen = localStorage.getItem(KEY) ?? '';
  return THEMES.some(({ value }) => value === chosen) ? chosen : '';
};

export function setTheme(value: string): void {
  if (value) localStorage.setItem(KEY, value);
  else localStorage.removeItem(KEY);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = getTheme();
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}
