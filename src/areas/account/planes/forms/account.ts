import type { FastifyInstance } from 'fastify';
import { sessionsOf } from '../../../../identity/store/sessions.ts';
import { hasWayIn } from '../../store/ways-in.ts';
import { sendAccountPage } from '../../views/account-page.ts';
import { firstSteps } from '../../views/first-steps.ts';
import { profileForms } from '../../views/profile.ts';
import { sessionsList } from '../../views/sessions-list.ts';
import type { Forms } from './forms.ts';
import { requireSignedIn, shownPage } from './page.ts';

/** The first page of an account: who one is, and where one is signed in. */
export function accountForms(server: FastifyInstance, app: Forms): void {
  server.get(
    '/account',
    shownPage(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const [sessions, isSettled] = await app.db.read(async (tx) => [await sessionsOf(tx, person.id), await hasWayIn(tx, person.id)]);
      const body =
        firstSteps({ ...person, hasWayIn: isSettled }) +
        `${profileForms(person)}<h2>Where you are signed in</h2>` +
        sessionsList(sessions, person.session_id) +
        '<form method="post" action="/sign-out"><button>Sign out</button></form>';
      sendAccountPage(reply, 'Your account', '/account', body);
    }),
  );
}
