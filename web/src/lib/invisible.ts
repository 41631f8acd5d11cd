// Control, direction and zero-width characters: they cannot be seen, and yet change what a line means.

export const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

export const INVISIBLE_TITLE = 'An invisible character';

/** A character as its code, such as `U+200B`. */
export const formatCodePoint = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
