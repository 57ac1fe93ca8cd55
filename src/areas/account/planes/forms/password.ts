import type { FastifyInstance } from 'fastify';
import { changePassword } from '../../engine/passwords.ts';
import { hasPassword } from '../../store/passwords.ts';
import { sendAccountPage } from '../../views/account-page.ts';
import { passwordBody, passwordSavedBody } from '../../views/password-page.ts';
import type { Forms } from './forms.ts';
import { fieldOf, orProblem, requireFresh, sentForm, shownPage, visitorOf } from './page.ts';

/** A person's password. The current one is not asked for: the session is fresh. */
export function passwordForms(server: FastifyInstance, app: Forms): void {
  server.get(
    '/account/password',
    shownPage(app, async (request, reply) => {
      const { id, email } = await requireFresh(app, request);
      const hasOne = await app.db.read((tx) => hasPassword(tx, id));
      sendAccountPage(reply, 'Password', '/account/password', passwordBody({ email, hasOne }));
    }),
  );
  server.post(
    '/account/password',
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request);
      const wanted = {
        password: fieldOf(request, 'password'),
        repeated: fieldOf(request, 'repeated'),
        revokesTokens: fieldOf(request, 'revoke-tokens') === 'yes',
      };
      const problem = await orProblem(reply, () => changePassword(app, person, wanted, visitorOf(app, request)));
      if (!problem) return sendAccountPage(reply, 'Password', '/account/password', passwordSavedBody);
      const hasOne = await app.db.read((tx) => hasPassword(tx, person.id));
      const body = passwordBody({ email: person.email, hasOne }, problem.problem);
      return sendAccountPage(reply, 'Password', '/account/password', body, undefined, problem.status);
    }),
  );
}
