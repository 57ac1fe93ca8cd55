import type { FastifyReply } from 'fastify';

/** Whatever people wrote, as text: in an element or an attribute. */
export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.6rem 1.2rem}pre{padding:1rem;border:1px solid;overflow-x:auto}';

/** A small page for a person: no script, nothing from elsewhere. `title` is text, `body` is markup. */
export const sendPage = (reply: FastifyReply, status: number, title: string, body: string) =>
  reply
    .code(status)
    .header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width"><style>${style}</style></head><body><h1>${escaped(title)}</h1>${body}</body></html>`,
    );
