import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SignedIn } from '../../../../identity/store/sessions.ts';
import { kindOf } from '../../../../identity/token-format.ts';
import { sendHtml } from '../../../../kernel/http/html.ts';
import { passCode, type SecondStep } from '../../engine/second-step.ts';
import type { Visitor } from '../../engine/sessions.ts';
import { signInByPassword, typedAddress } from '../../engine/sign-in.ts';
import { proveAgain } from '../../engine/step-up.ts';
import { rpIdOf } from '../../rules/ceremony.ts';
import { isKnownKey, knownHash } from '../../rules/known-browser.ts';
import { ownerOfBrowserAt } from '../../store/known-browsers.ts';
import { passkeysOf } from '../../store/passkeys.ts';
import { hasPassword } from '../../store/passwords.ts';
import { hasTotp } from '../../store/pending.ts';
import { passkeyScriptPath } from '../../views/passkey-part.ts';
import { type ProvableWays, proveAgainBody, secondStepBody, signInBody } from '../../views/sign-in-pages.ts';
import type { Forms } from './forms.ts';
import {
  fieldOf,
  goOn,
  lacksSecondFactor,
  nextOf,
  orProblem,
  type Problem,
  pendingKeyIn,
  requireSignedIn,
  sentForm,
  setPending,
  setSession,
  shownPage,
  signingIn,
  unlessTooMany,
  visitorOf,
} from './page.ts';

const title = 'Sign in to Quarterdeck';

/** Signing in by password and code, and proving oneself once more. */
export function signInForms(server: FastifyInstance, app: Forms): void {
  server.get(
    '/sign-in',
    shownPage(app, async (request, reply) => {
      if (await app.findSignedIn(request.raw).catch(unlessTooMany)) return reply.redirect(nextOf(request), 303);
      return sendHtml(reply, 200, title, signInBody({ email: '', next: nextOf(request) }), passkeyScriptPath);
    }),
  );
  server.post(
    '/sign-in',
    sentForm(app, async (request, reply) => {
      const sent = { email: fieldOf(request, 'email'), password: fieldOf(request, 'password') };
      const visitor = await signingIn(app, request);
      const passed = await orProblem(reply, async () => signInByPassword(app, sent, visitor, await findKnown(app, request, sent.email)));
      if ('problem' in passed)
        return sendHtml(reply, passed.status, title, signInBody({ ...sent, next: nextOf(request), ...passed }), passkeyScriptPath);
      return goOn(app, reply, passed, nextOf(request));
    }),
  );
  secondStepForms(server, app);
  proveAgainForms(server, app);
}

/** The person of this address who has signed in with this browser before. */
async function findKnown(app: Forms, request: FastifyRequest, email: string): Promise<string | undefined> {
  const { knownKey } = visitorOf(app, request);
  if (!isKnownKey(knownKey)) return undefined;
  const look = () => app.db.read((tx) => ownerOfBrowserAt(tx, knownHash(knownKey), typedAddress(email)));
  return app.guessesAt.knownBrowser.lookUp(request.raw, undefined, look).catch(unlessTooMany);
}

function secondStepForms(server: FastifyInstance, app: Forms): void {
  server.get(
    '/sign-in/second',
    shownPage(app, async (request, reply) => {
      const next = nextOf(request);
      if (pendingKeyIn(app, request) === undefined) return reply.redirect(`/sign-in?next=${encodeURIComponent(next)}`, 303);
      return sendHtml(reply, 200, 'Second step', secondStepBody({ next }));
    }),
  );
  server.post(
    '/sign-in/second',
    sentForm(app, async (request, reply) => {
      const next = nextOf(request);
      const visitor = await signingIn(app, request);
      const step = await orProblem(reply, () => sendCode(app, request, visitor));
      if ('problem' in step) return sendHtml(reply, step.status, 'Second step', secondStepBody({ next, ...step }));
      if ('session' in step) return setSession(app, setPending(app, reply, ''), step.session.key).redirect(next, 303);
      if (step.outcome === 'wrong') return sendHtml(reply, 401, 'Second step', secondStepBody({ next, problem: wrongCode }));
      return sendHtml(setPending(app, reply, ''), 401, title, signInBody({ email: '', next, problem: fromTheStart }), passkeyScriptPath);
    }),
  );
}

/** A sign-in that was made up, or is over, is a wrong secret; a wrong code is counted with its person. */
async function sendCode(app: Forms, request: FastifyRequest, visitor: Visitor): Promise<SecondStep> {
  const key = pendingKeyIn(app, request);
  if (key === undefined || kindOf(key) !== 'once') return { outcome: 'over' };
  const pass = async () => {
    const step = await passCode(app, key, fieldOf(request, 'code'), visitor);
    return 'outcome' in step && step.outcome === 'over' ? undefined : step;
  };
  return (await app.guessesAt.pending.lookUp(request.raw, undefined, pass)) ?? { outcome: 'over' };
}

const wrongCode = 'the code is wrong, or it was used already: wait for the next one';
const fromTheStart = 'too many codes were wrong, or the sign-in took too long: begin again with your password';

function proveAgainForms(server: FastifyInstance, app: Forms): void {
  const show = async (request: FastifyRequest, reply: FastifyReply, person: SignedIn, refused?: Problem) => {
    const ways = await provableWays(app, person, request);
    const body = proveAgainBody(person.email, ways, { next: nextOf(request), ...refused });
    return sendHtml(reply, refused?.status ?? 200, 'Is it you?', body, passkeyScriptPath);
  };
  server.get(
    '/sign-in/again',
    shownPage(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const isProven = person.is_fresh && !(await lacksSecondFactor(app, person));
      return isProven ? reply.redirect(nextOf(request), 303) : show(request, reply, person);
    }),
  );
  server.post(
    '/sign-in/again',
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, nextOf(request));
      const sent = { password: fieldOf(request, 'password'), code: fieldOf(request, 'code') };
      const problem = await orProblem(reply, () => proveAgain(app, person, sent, visitorOf(app, request)));
      return problem ? show(request, reply, person, problem) : reply.redirect(nextOf(request), 303);
    }),
  );
}

async function provableWays(app: Forms, person: SignedIn, request: FastifyRequest): Promise<ProvableWays> {
  const needsSecondFactor = await lacksSecondFactor(app, person);
  const rpId = rpIdOf(request.headers.host ?? '');
  return app.db.read(async (tx) => {
    const hasApp = await hasTotp(tx, person.id);
    const passkeys = await passkeysOf(tx, person.id);
    return {
      needsSecondFactor,
      // A password alone would lead back here.
      hasPassword: (hasApp || !needsSecondFactor) && (await hasPassword(tx, person.id)),
      hasApp,
      hasPasskey: passkeys.some(({ rp_id }) => rp_id === rpId),
    };
  });
}
