import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';

/** Escapes user text for an element or an attribute. */
export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** A sentence of a refusal as it stands on a page: with a capital letter and an end. */
export const asSentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

// One column that fits a phone; long words break. The button is wide enough for a thumb.
const style = [
  ':root{color-scheme:light dark;--ink:#1f2328;--ground:#fff;--faint:#59636e;--line:#d1d9e0;--code:#f0f2f5;--act:#0550ae;--on-act:#fff}',
  '@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--ground:#0d1117;--faint:#9198a1;--line:#3d444d;--code:#1c2129;--act:#4493f8;--on-act:#0d1117}}',
  '*{box-sizing:border-box}',
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--ground);overflow-wrap:anywhere}',
  'h1{font-size:1.4rem;line-height:1.3}h2{font-size:1.1rem}',
  'button{font:inherit;font-weight:600;min-height:3rem;padding:.6rem 1.5rem;border:0;border-radius:.4rem;color:var(--on-act);background:var(--act);cursor:pointer}',
  '@media(max-width:30rem){button{width:100%}}',
  'label{display:block;margin:.8rem 0 .2rem}input,select,textarea{font:inherit;width:100%;max-width:24rem;min-height:3rem;padding:.5rem .75rem;border:1px solid var(--faint);border-radius:.4rem;color:var(--ink);background:var(--ground)}input[type=checkbox],input[type=radio]{flex:none;width:1.5rem;min-height:1.5rem;margin:0;vertical-align:middle}label.choice{display:flex;gap:.6rem;margin:.8rem 0}fieldset{border:1px solid var(--line);border-radius:.4rem;margin:.8rem 0;padding:.2rem 1rem}summary{padding:.4rem 0;cursor:pointer}',
  'form.wide{display:block;margin:0 0 1.5rem}form.wide button{display:block;margin-top:1rem}[role=alert]{padding:.6rem 1rem;border:2px solid var(--ink);border-radius:.4rem}button.plain{color:var(--act);background:none;border:1px solid var(--act)}nav{margin-bottom:1.2rem;border-bottom:1px solid var(--line)}nav a[aria-current]{font-weight:700;color:var(--ink)}',
  'a{color:var(--act)}a:focus-visible,button:focus-visible,input:focus-visible,select:focus-visible{outline:3px solid var(--ink);outline-offset:2px}',
  'pre,.words{white-space:pre-wrap}pre,code{background:var(--code);border-radius:.3rem}pre{padding:1rem;border:1px solid var(--line)}code{padding:.1em .3em}',
  '.faint{color:var(--faint)}ul{padding-left:1.2rem}li{margin:.6rem 0}form{display:inline-block;margin:0 .5rem .5rem 0}@media(max-width:30rem){form{display:block;margin-right:0}}',
  'nav a{display:inline-block;padding:.4rem 1rem .4rem 0}iframe{border:1px solid var(--line);background:#fff}p[role=note]{margin:0 0 1rem;padding-bottom:.8rem;border-bottom:1px solid var(--line)}',
].join('');

const policyOf = (...more: string[]) =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...more,
  ].join('; ');

/** The Content-Security-Policy of `renderHtml`: its own style and forms to this server, nothing else. */
export const htmlPolicy = policyOf();

/** The same for a page with a script of this server, which may ask this server, and makes no markup out of text. */
const scriptPolicy = policyOf(
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
);

/** A small HTML page: no external resource, light or dark as the browser prefers. `title` is text, `body` is markup, `script` a path of ours. */
export const renderHtml = (title: string, body: string, script?: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><style>${style}</style>${script ? `<script type="module" src="${escaped(script)}"></script>` : ''}</head><body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`;

export const sendHtml = (reply: FastifyReply, status: number, title: string, body: string, script?: string) =>
  reply
    .code(status)
    .header('Content-Security-Policy', script ? scriptPolicy : htmlPolicy)
    .type('text/html; charset=utf-8')
    .send(renderHtml(title, body, script));

/** The page of a refusal, with the way on. `next` is a path or URL of ours. */
export const sendRefusalPage = (reply: FastifyReply, status: number, sentence: string, next = { href: '/', label: 'To the start' }) =>
  sendHtml(
    reply,
    status,
    'This did not work',
    `<p>${escaped(asSentence(sentence))}</p><p><a href="${escaped(next.href)}">${escaped(next.label)}</a></p>`,
  );
