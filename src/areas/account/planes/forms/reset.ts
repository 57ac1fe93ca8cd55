import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Email } from '../../../../../contract/common.ts';
import { makeAttempts, tooMany } from '../../../../identity/attempts.ts';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { sendHtml } from '../../../../kernel/http/html.ts';
import { checker } from '../../../../kernel/http/validate.ts';
import { askForReset, lookAtReset, resetPassword } from '../../engine/reset.ts';
import { forgotAnswer, forgotForm, noMailLeaves, resetForm } from '../../views/reset-page.ts';
import type { Forms } from './forms.ts';
import { fieldOf, goOn, paramOf, sentForm, shownPage, signingIn } from './page.ts';

const checkEmail = checker(Type.Object({ email: Email }), 'body');
/** Of one network address. */
const asksPerMinute = 10;

/** A forgotten password: the form that asks for a link, and the link. */
export function resetForms(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  const asks = rateLimit(asksPerMinute);
  server.get(
    '/sign-in/forgot',
    shownPage(app, async (_request, reply) => sendHtml(reply, 200, 'Forgot your password?', app.mail.leaves() ? forgotForm : noMailLeaves)),
  );
  server.post(
    '/sign-in/forgot',
    sentForm(app, async (request, reply) => {
      if (!app.mail.leaves()) return sendHtml(reply, 200, 'Forgot your password?', noMailLeaves);
      const { allowed, resetSeconds } = asks.take(app.peers.of(request.raw));
      if (!allowed) throw tooMany(`more than ${asksPerMinute} requests a minute from this address`, resetSeconds);
      const { email } = checkEmail({ email: fieldOf(request, 'email') }) as { email: string };
      await app.db.write((tx) => askForReset(tx, email, request.id));
      return sendHtml(reply, 200, 'Look at your mail', forgotAnswer);
    }),
  );
  const look = (request: Parameters<typeof paramOf>[0]) =>
    attempts.lookUp(request.raw, undefined, () => app.db.read((tx) => lookAtReset(tx, paramOf(request, 'secret'))));
  server.get(
    '/sign-in/reset/:secret',
    shownPage(app, async (request, reply) => {
      const { person } = (await look(request))!;
      sendHtml(reply, 200, 'Choose a new password', resetForm(person.email));
    }),
  );
  server.post(
    '/sign-in/reset/:secret',
    sentForm(app, async (request, reply) => {
      const { person } = (await look(request))!;
      try {
        const passed = await resetPassword(app, paramOf(request, 'secret'), fieldOf(request, 'password'), await signingIn(app, request));
        return goOn(app, reply, passed, '/account');
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 400) throw error;
        return sendHtml(reply, 400, 'Choose a new password', resetForm(person.email, error.message));
      }
    }),
  );
}
