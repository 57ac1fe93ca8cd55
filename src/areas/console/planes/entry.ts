import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { isOwnHost } from '../../../identity/rules/own-host.ts';
import { cookieIn } from '../../../identity/session-cookie.ts';
import { makeFindSignedIn } from '../../../identity/signed-in.ts';
import { organizationsOf } from '../../../identity/store/members.ts';
import type { App } from '../../../kernel/app.ts';
import { escaped, sendHtml } from '../../../kernel/http/html.ts';

/** The console notes here which organization it showed last: a name, no secret. */
const lastCookie = 'qd-organization';

/** `/o` leads to the console of the person's organization: the one of last time, the only one, or a choice. */
export function entryRoute(server: FastifyInstance, app: App): void {
  const findSignedIn = makeFindSignedIn(app);
  const lead = async (request: { raw: IncomingMessage }, reply: FastifyReply) => {
    const { raw } = request;
    if (!isOwnHost(raw.headers.host, app.publicUrl()))
      return sendHtml(reply, 421, 'The console is not here', `<p>It is at ${escaped(app.publicUrl())}.</p>`);
    const person = await findSignedIn(raw);
    const found = person && (await app.db.read((tx) => organizationsOf(tx, person.id)));
    reply.header('Cache-Control', 'no-store');
    if (!found) return reply.redirect('/sign-in?next=/o', 303);
    const last = cookieIn(raw, app, lastCookie);
    const chosen = found.find(({ slug }) => encodeURIComponent(slug) === last) ?? (found.length === 1 ? found[0] : undefined);
    if (chosen) return reply.redirect(`/o/${encodeURIComponent(chosen.slug)}/`, 303);
    if (!found.length)
      return sendHtml(
        reply,
        200,
        'You are in no organization',
        '<p>An owner or admin invites you; the link of the invitation leads here. <a href="/account">Your account</a></p>',
      );
    const items = found.map(({ slug, name }) => `<li><a href="/o/${encodeURIComponent(slug)}/">${escaped(name)}</a></li>`);
    return sendHtml(reply, 200, 'Choose an organization', `<ul>${items.join('')}</ul>`);
  };
  server.get('/o', lead);
  server.get('/o/', lead);
}
