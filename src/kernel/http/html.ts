import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';

/** Escapes user text for an element or an attribute. */
export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// One column that fits a phone; long words break. The button is wide enough for a thumb.
const style = [
  ':root{color-scheme:light dark;--ink:#1f2328;--ground:#fff;--faint:#59636e;--line:#d1d9e0;--code:#f0f2f5;--act:#0550ae;--on-act:#fff}',
  '@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--ground:#0d1117;--faint:#9198a1;--line:#3d444d;--code:#1c2129;--act:#4493f8;--on-act:#0d1117}}',
  '*{box-sizing:border-box}',
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--ground);overflow-wrap:anywhere}',
  'h1{font-size:1.4rem;line-height:1.3}h2{font-size:1.1rem}',
  'button{font:inherit;font-weight:600;min-height:3rem;padding:.6rem 1.5rem;border:0;border-radius:.4rem;color:var(--on-act);background:var(--act);cursor:pointer}',
  '@media(max-width:30rem){button{width:100%}}',
  'a{color:var(--act)}a:focus-visible,button:focus-visible{outline:3px solid var(--ink);outline-offset:2px}',
  'pre,.words{white-space:pre-wrap}pre,code{background:var(--code);border-radius:.3rem}pre{padding:1rem;border:1px solid var(--line)}code{padding:.1em .3em}',
  '.faint{color:var(--faint)}ul{padding-left:1.2rem}li{margin:.6rem 0}form{display:inline-block;margin:0 .5rem .5rem 0}@media(max-width:30rem){form{display:block;margin-right:0}}',
  'nav a{display:inline-block;padding:.6rem 1rem .6rem 0}iframe{border:1px solid var(--line);background:#fff}p[role=note]{margin:0 0 1rem;padding-bottom:.8rem;border-bottom:1px solid var(--line)}',
].join('');

/** The Content-Security-Policy of `renderHtml`: its own style and forms to this server, nothing else. */
export const htmlPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A small HTML page: no script, no external resource, light or dark as the browser prefers. `title` is text, `body` is markup. */
export const renderHtml = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><style>${style}</style></head><body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`;

export const sendHtml = (reply: FastifyReply, status: number, title: string, body: string) =>
  reply.code(status).header('Content-Security-Policy', htmlPolicy).type('text/html; charset=utf-8').send(renderHtml(title, body));
