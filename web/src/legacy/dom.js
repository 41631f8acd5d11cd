// Creates elements. Text never becomes markup here.

const $ = (id) => document.getElementById(id);

/** An element; `props` are properties, `on…` listeners, and attributes (aria-…, data-…, role, for). */
function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (/^(aria|data)-|^(role|for|scope|colspan)$/.test(name)) node.setAttribute(name, value);
    else node[name === 'class' ? 'className' : name] = value;
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const button = (text, onclick, props = {}) => el('button', { type: 'button', onclick, ...props }, text);

export { $, button, el };
export { announce as say } from '../lib/ui';
import { notify as show } from '../lib/ui';

export const notice = (text, kind = 'bad') => text && show(text, kind);
