import type { FastifyInstance, FastifyReply } from 'fastify';
import type { SignedIn } from '../../../../identity/store/sessions.ts';
import { beginApp, confirmApp, removeApp, renewRecoveryCodes, unconfirmedSecret } from '../../engine/second-factor.ts';
import { base32, otpauthUrl } from '../../rules/totp.ts';
import { hasPassword } from '../../store/passwords.ts';
import { hasTotp } from '../../store/pending.ts';
import { recoveryCodesLeft } from '../../store/totp.ts';
import { sendAccountPage } from '../../views/account-page.ts';
import { codesBody, secondFactorOffBody, secondFactorOnBody, setUpBody } from '../../views/second-factor-page.ts';
import type { Forms } from './forms.ts';
import { fieldOf, orProblem, type Problem, requireFresh, sentForm, shownPage, visitorOf } from './page.ts';

const path = '/account/second-factor';
const title = 'Second factor';

/** A person's authenticator app and recovery codes. */
export function secondFactorForms(server: FastifyInstance, app: Forms): void {
  server.get(
    path,
    shownPage(app, async (request, reply) => showState(app, reply, await requireFresh(app, request))),
  );
  server.post(
    `${path}/begin`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const problem = await orProblem(reply, () => beginApp(app, person));
      return problem ? showState(app, reply, person, problem) : reply.redirect(`${path}/app`, 303);
    }),
  );
  server.get(
    `${path}/app`,
    shownPage(app, async (request, reply) => showSecret(app, reply, await requireFresh(app, request))),
  );
  server.post(
    `${path}/confirm`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const codes = await orProblem(reply, () => confirmApp(app, person, fieldOf(request, 'code'), visitorOf(app, request)));
      return 'problem' in codes ? showSecret(app, reply, person, codes) : showCodes(reply, codes);
    }),
  );
  server.post(
    `${path}/codes`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const codes = await orProblem(reply, () => renewRecoveryCodes(app, person, visitorOf(app, request)));
      return 'problem' in codes ? showState(app, reply, person, codes) : showCodes(reply, codes);
    }),
  );
  server.post(
    `${path}/remove`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const revokesTokens = fieldOf(request, 'revoke-tokens') === 'yes';
      const problem = await orProblem(reply, () => removeApp(app, person, revokesTokens, visitorOf(app, request)));
      return problem ? showState(app, reply, person, problem) : reply.redirect(path, 303);
    }),
  );
}

async function showState(app: Forms, reply: FastifyReply, { id }: SignedIn, refused?: Problem) {
  const state = await app.db.read(async (tx) => ({
    isOn: await hasTotp(tx, id),
    hasPassword: await hasPassword(tx, id),
    codesLeft: await recoveryCodesLeft(tx, id),
  }));
  const { problem, status } = refused ?? {};
  const body = state.isOn ? secondFactorOnBody(state.codesLeft, problem) : secondFactorOffBody(state.hasPassword, problem);
  return sendAccountPage(reply, title, path, body, undefined, status);
}

/** The secret is shown until a code of it was right, and never again. */
async function showSecret(app: Forms, reply: FastifyReply, person: SignedIn, refused?: Problem) {
  const secret = await app.db.read((tx) => unconfirmedSecret(tx, app, person));
  if (!secret) return refused ? showState(app, reply, person, refused) : reply.redirect(path, 303);
  const body = setUpBody(base32(secret), otpauthUrl(secret, person.email, app.publicUrl()), refused?.problem);
  return sendAccountPage(reply, 'Set up an authenticator app', path, body, undefined, refused?.status);
}

const showCodes = (reply: FastifyReply, codes: readonly string[]) => sendAccountPage(reply, 'Recovery codes', path, codesBody(codes));
