// The form in which the texts of the app and the bridge are compared.

/** Without a byte order mark, and with LF. @param {string} text */
const plain = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');
