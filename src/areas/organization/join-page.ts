import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App } from '../../kernel/app.ts';
import { Refusal } from '../../kernel/errors.ts';
import { join } from './join.ts';

/** What the invitation link opens: GET shows a button and changes nothing (mail scanners follow links), POST joins. */
export function joinPage(server: FastifyInstance, app: App) {
  server.get<{ Params: { secret: string } }>('/join/:secret', (_request, reply) => {
    page(
      reply,
      200,
      'Join an organization',
      '<p>You were invited to Quarterdeck. Joining makes your account and shows your first token, once.</p><form method="post"><button>Join</button></form>',
    );
  });
  server.post<{ Params: { secret: string } }>('/join/:secret', async (request, reply) => {
    try {
      const joined = await app.db.write((tx) => join(tx, { app, principal: undefined, requestId: request.id }, request.params.secret));
      page(
        reply,
        201,
        'Welcome',
        `<p>You are now a member of <b>${escaped(joined.orgSlug)}</b>. Your token, shown only here:</p><pre>${joined.key}</pre>`,
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      page(reply, error.status, 'This did not work', `<p>${escaped(error.message)}</p>`);
    }
    return reply;
  });
}

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}pre{padding:1rem;border:1px solid;overflow-x:auto}';

function page(reply: FastifyReply, status: number, title: string, body: string) {
  reply
    .code(status)
    .header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width"><style>${style}</style><h1>${title}</h1>${body}</html>`,
    );
}

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
