import type { FastifyInstance } from 'fastify';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { escaped, sendHtml } from '../../../../kernel/http/html.ts';
import { lookAtLink, signInByLink } from '../../engine/links.ts';
import type { Forms } from './forms.ts';
import { paramOf, sentForm, setSession, shownPage, signingIn } from './page.ts';

/** Links that sign one person in, once: the claim of the first owner, and those that the operator makes. */
export function linkForms(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  server.get(
    '/sign-in/link/:secret',
    shownPage(app, async (request, reply) => {
      const secret = paramOf(request, 'secret');
      const { person } = (await attempts.lookUp(request.raw, undefined, () => app.db.read((tx) => lookAtLink(tx, secret))))!;
      const body = `<p>This link signs you in as <b>${escaped(person.email)}</b>, once.</p><form method="post"><button>Sign in</button></form>`;
      sendHtml(reply, 200, 'Sign in', body);
    }),
  );
  server.post(
    '/sign-in/link/:secret',
    sentForm(app, async (request, reply) => {
      const secret = paramOf(request, 'secret');
      const visitor = await signingIn(app, request);
      const signedIn = await attempts.lookUp(request.raw, undefined, () => app.db.write((tx) => signInByLink(tx, app, secret, visitor)));
      setSession(app, reply, signedIn!.key).redirect('/account', 303);
    }),
  );
}
