// The only place where text becomes markup. Everything goes through DOMPurify; nothing in a note is ever executed.
//
// The policy of Trusted Types is created here and given to DOMPurify alone, so that no other code of the page can turn text
// into markup, not even by mistake. The result is a fragment of inert elements. Interactive ones (links within the vault,
// tasks, embeds) are created afterwards with DOM calls, in place of marks that contain a secret of this page load.

import DOMPurify from 'dompurify';

/** With this begin the marks that our own renderer makes; a note cannot know it. */
export const MARK = crypto.randomUUID().slice(0, 8);

const TAGS = `a abbr b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure
  h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q rp rt ruby s samp section small span strong sub summary sup table
  tbody td tfoot th thead tr u ul var wbr`.split(/\s+/);
const ATTRIBUTES = `alt class colspan data-md data-md-line dir height href lang open rowspan scope span src start title
  value width`.split(/\s+/);
const MATH_TAGS = `math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace
  msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover semantics`.split(/\s+/);
const MATH_ATTRIBUTES = `accent accentunder class columnalign columnlines columnspan depth dir display displaystyle fence
  form height intent largeop linethickness lspace mathvariant maxsize minsize movablelimits notation rowlines rowspan rspace
  scriptlevel separator stretchy symmetric voffset width xmlns`.split(/\s+/);

// The classes of our own renderer. Others could make a note look like a part of the page.
const CLASSES = /^(?:md-[\w-]+|hljs(?:-[\w-]+)?|tml-[\w-]+)$/;
const LINKS = /^(?:https?:|mailto:)/i;
const PICTURES = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]*$/;

interface Policy { createHTML(text: string): never; createScriptURL(text: string): never }
interface Factory { createPolicy(name: string, rules: object): Policy }

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy('vaultbridge', {
  createHTML: (text: string) => text,
  createScriptURL: () => {
    throw new TypeError('This page never makes a script from text.');
  },
});

DOMPurify.addHook('uponSanitizeAttribute', (_, data) => {
  if (data.attrName === 'class') {
    data.attrValue = data.attrValue.split(/\s+/).filter((name) => CLASSES.test(name)).join(' ');
    data.keepAttr = data.attrValue !== '';
  } else if (data.attrName === 'href') data.keepAttr = LINKS.test(data.attrValue.trim());
  else if (data.attrName === 'src') data.keepAttr = PICTURES.test(data.attrValue);
  else if (data.attrName === 'data-md' || data.attrName === 'data-md-line') data.keepAttr = data.attrValue.startsWith(MARK);
});

const BASE = {
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ALLOW_UNKNOWN_PROTOCOLS: false,
  KEEP_CONTENT: true,
  RETURN_DOM_FRAGMENT: true,
  SANITIZE_DOM: true,
  ...(policy && { TRUSTED_TYPES_POLICY: policy as never }),
} as const;

/** The markup of a note as inert elements. */
export function sanitize(html: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, { ...BASE, ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, FORBID_CONTENTS: ['script', 'style', 'iframe', 'noscript', 'template', 'textarea', 'title', 'svg', 'math', 'xmp', 'noembed', 'noframes', 'plaintext'] });
  for (const link of fragment.querySelectorAll('a[href]')) {
    link.setAttribute('target', '_blank');
    link.setAttribute('rel', 'noopener noreferrer');
  }
  return document.importNode(fragment, true);
}

/** A formula's MathML as inert elements. */
export function sanitizeMath(mathml: string): DocumentFragment {
  return document.importNode(DOMPurify.sanitize(mathml, { ...BASE, ALLOWED_TAGS: MATH_TAGS, ALLOWED_ATTR: MATH_ATTRIBUTES }), true);
}
