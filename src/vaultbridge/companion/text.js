// Texts: how they are compared, counted and formatted.

/** Without a byte order mark, and with LF, so that texts of the app and of files can be compared. @param {string} text */
const normalizeText = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');

/** A count with its noun. @param {number} count @param {string} noun */
const pluralize = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** @param {number} at seconds since the epoch */
const formatTime = (at) => new Date(at * 1000).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });

/** How many lines a text has; an unfinished one counts. @param {string} text */
const countLines = (text) => text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0);
