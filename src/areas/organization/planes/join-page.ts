import type { FastifyInstance } from 'fastify';
import { makeAttempts } from '../../../identity/attempts.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { escaped, sendHtml } from '../../../kernel/http/html.ts';
import { joinByInvitation } from '../engine/invitations.ts';

/** What the invitation link opens: GET shows a button and changes nothing (mail scanners follow links), POST joins. */
export function joinPage(server: FastifyInstance, app: App) {
  const attempts = makeAttempts(app);
  server.get<{ Params: { secret: string } }>('/join/:secret', (_request, reply) => {
    sendHtml(
      reply,
      200,
      'Join an organization',
      '<p>You were invited to Quarterdeck. Joining makes your account and shows your first token, once.</p><form method="post"><button>Join</button></form>',
    );
  });
  server.post<{ Params: { secret: string } }>('/join/:secret', async (request, reply) => {
    try {
      const by = { app, principal: undefined, requestId: request.id };
      const joined = await attempts.lookUp(request.raw, undefined, () =>
        app.db.write((tx) => joinByInvitation(tx, by, request.params.secret)),
      );
      sendHtml(
        reply,
        201,
        'Welcome',
        `<p>You are now a member of <b>${escaped(joined!.orgSlug)}</b>. Your token, shown only here:</p><pre>${joined!.key}</pre>`,
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendHtml(reply.headers(error.headers), error.status, 'This did not work', `<p>${escaped(error.message)}</p>`);
    }
    return reply;
  });
}
