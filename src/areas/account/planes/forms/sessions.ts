import type { FastifyInstance, FastifyReply } from 'fastify';
import { endedCookie, usesSecureCookies } from '../../../../identity/session-cookie.ts';
import { sendHtml } from '../../../../kernel/http/html.ts';
import { endOwnSession } from '../../engine/sessions.ts';
import type { Forms } from './forms.ts';
import { paramOf, requireSignedIn, sentForm, visitorOf } from './page.ts';

/** Signing out, here and in other browsers. */
export function sessionForms(server: FastifyInstance, app: Forms): void {
  server.post(
    '/account/sessions/:id/end',
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, '/account');
      const id = paramOf(request, 'id');
      await endOwnSession(app, person, id, visitorOf(app, request));
      if (id === person.session_id) leave(app, reply);
      else reply.redirect('/account', 303);
    }),
  );
  server.post(
    '/sign-out',
    sentForm(app, async (request, reply) => {
      const person = await app.findSignedIn(request.raw);
      if (person) await endOwnSession(app, person, person.session_id, visitorOf(app, request));
      leave(app, reply);
    }),
  );
}

function leave(app: Forms, reply: FastifyReply): void {
  reply.header('Set-Cookie', endedCookie(usesSecureCookies(app)));
  sendHtml(reply, 200, 'Signed out', '<p>You are signed out of this browser.</p><p><a href="/sign-in?next=/o">Sign in</a></p>');
}
