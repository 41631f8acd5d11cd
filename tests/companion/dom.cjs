// @ts-nocheck
// As much of a browser's document as the companion uses, for Node. It stands in for the browser, not for us.
'use strict';

/** Called after every change, so that a test can wait for what it looks for. */
let changed = () => {};

class Text {
  constructor(text) {
    this.textContent = text;
    this.parentNode = null;
  }
}

class Listened {
  #listeners = [];

  addEventListener(type, act) {
    this.#listeners.push([type, act]);
  }

  removeEventListener(type, act) {
    this.#listeners = this.#listeners.filter(([one, other]) => one !== type || other !== act);
  }

  dispatch(type, event = {}) {
    for (const [one, act] of [...this.#listeners]) if (one === type) act({ type, target: this, ...event });
  }

  get listenerCount() {
    return this.#listeners.length;
  }
}

class Element extends Listened {
  #attributes = new Map();

  constructor(page, tag) {
    super();
    Object.assign(this, { ownerDocument: page, tagName: tag.toUpperCase(), parentNode: null, childNodes: [] });
    Object.assign(this, { value: '', checked: false, disabled: false, hidden: false, type: '' });
    const words = () => new Set((this.getAttribute('class') ?? '').split(/\s+/).filter(Boolean));
    const write = (set) => this.setAttribute('class', [...set].join(' '));
    this.classList = {
      add: (name) => write(words().add(name)),
      contains: (name) => words().has(name),
      toggle: (name, on) => {
        const set = words();
        if (on) set.add(name);
        else set.delete(name);
        write(set);
      },
    };
  }

  setAttribute(name, value) {
    this.#attributes.set(name, String(value));
    changed();
  }

  getAttribute(name) {
    return this.#attributes.get(name) ?? null;
  }

  append(...nodes) {
    for (const node of nodes) {
      const child = typeof node === 'string' ? new Text(node) : node;
      child.remove?.();
      child.parentNode = this;
      this.childNodes.push(child);
    }
    changed();
  }

  replaceChildren(...nodes) {
    for (const child of [...this.childNodes]) child.remove?.();
    this.childNodes = [];
    this.append(...nodes);
  }

  replaceWith(other) {
    const { parentNode } = this;
    const at = parentNode.childNodes.indexOf(this);
    this.remove();
    other.parentNode = parentNode;
    parentNode.childNodes.splice(at, 0, other);
    changed();
  }

  remove() {
    if (!this.parentNode) return;
    if (this.contains(this.ownerDocument.activeElement)) this.ownerDocument.activeElement = this.ownerDocument.body;
    this.parentNode.childNodes = this.parentNode.childNodes.filter((child) => child !== this);
    this.parentNode = null;
    changed();
  }

  contains(other) {
    return other === this || this.children.some((child) => child.contains(other));
  }

  get children() {
    return this.childNodes.filter((child) => child instanceof Element);
  }

  get firstElementChild() {
    return this.children[0] ?? null;
  }

  get nextElementSibling() {
    return this.#sibling(1);
  }

  get previousElementSibling() {
    return this.#sibling(-1);
  }

  #sibling(step) {
    const all = this.parentNode?.children ?? [];
    return all[all.indexOf(this) + step] ?? null;
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent).join('');
  }

  set textContent(text) {
    this.replaceChildren(...(text ? [text] : []));
  }

  /** Every element below, in order. */
  *below() {
    for (const child of this.children) {
      yield child;
      yield* child.below();
    }
  }

  /** By tag or `.class` only. */
  querySelectorAll(selector) {
    const fits = selector.startsWith('.')
      ? (element) => element.classList.contains(selector.slice(1))
      : (element) => element.tagName === selector.toUpperCase();
    return [...this.below()].filter(fits);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  focus() {
    // A browser gives focus to what can have it, and to nothing outside the page.
    const can = ['BUTTON', 'INPUT', 'TEXTAREA'].includes(this.tagName) || this.getAttribute('tabindex') !== null;
    if (can && !this.disabled && this.ownerDocument.body.contains(this)) this.ownerDocument.activeElement = this;
    changed();
  }

  click() {
    if (!this.disabled) this.dispatch('click');
  }
}

class Page extends Listened {
  constructor() {
    super();
    this.hidden = false;
    this.body = new Element(this, 'body');
    this.activeElement = this.body;
  }

  createElement(tag) {
    return new Element(this, tag);
  }
}

module.exports = {
  Listened,
  Page,
  onChange(act) {
    changed = act;
  },
};
