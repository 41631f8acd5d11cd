// Elements.

/** Creates elements in one document (the app has one for each window). Text never becomes markup.
 * @param {Document} page */
const createDom = (page) => {
  /** @param {string} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children */
  const el = (tag, attributes = {}, ...children) => {
    const node = page.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  /** @param {string} text @param {() => void} onClick @param {Record<string, string>} [attributes] */
  const button = (text, onClick, attributes = {}) => {
    const node = /** @type {HTMLButtonElement} */ (el('button', { type: 'button', ...attributes }, text));
    node.addEventListener('click', onClick);
    return node;
  };
  /** @param {string} text */
  const quiet = (text) => el('p', { class: 'vaultbridge-quiet' }, text);
  return { el, button, quiet };
};

/** @typedef {ReturnType<typeof createDom>} Dom */
