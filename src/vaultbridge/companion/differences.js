// The text that the app and the bridge both mean.

/** No byte order mark, LF. @param {string} text */
const plain = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');
