import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { cookieIn, ownCookie, usesSecureCookies } from '../../../../identity/session-cookie.ts';
import { invalid, Refusal } from '../../../../kernel/errors.ts';
import { type Ceremony, makeChallenge, openChallenge } from '../../engine/challenges.ts';
import { addPasskey, type Ceremonial, removePasskey, renamePasskey, renewByPasskey, signInByPasskey } from '../../engine/passkeys.ts';
import { browserName } from '../../rules/browser-name.ts';
import {
  challengeSeconds,
  creationOptions,
  type KnownCredential,
  originOf,
  parseAssertion,
  parseRegistration,
  requestOptions,
  rpIdOf,
} from '../../rules/ceremony.ts';
import { passkeysOf } from '../../store/passkeys.ts';
import { sendAccountPage } from '../../views/account-page.ts';
import { passkeyScript, passkeyScriptPath } from '../../views/passkey-part.ts';
import { passkeysPage } from '../../views/passkeys-page.ts';
import type { Forms } from './forms.ts';
import {
  askedByScript,
  fieldOf,
  lacksSecondFactor,
  nextOf,
  paramOf,
  requireFresh,
  requireSignedIn,
  sentForm,
  setSession,
  shownPage,
  signingIn,
  visitorOf,
} from './page.ts';

const path = '/account/passkeys';

/** Signing in by passkey, and the page about one's passkeys. */
export function passkeyForms(server: FastifyInstance, app: Forms): void {
  server.get(passkeyScriptPath, sendScript);
  useForms(server, app);
  addForms(server, app);
  changeForms(server, app);
}

function sendScript({ headers }: FastifyRequest, reply: FastifyReply) {
  const { text, etag } = passkeyScript();
  reply.headers({ ETag: etag, 'Cache-Control': 'no-cache', 'Cross-Origin-Resource-Policy': 'same-origin' });
  return headers['if-none-match'] === etag ? reply.code(304).send() : reply.type('text/javascript; charset=utf-8').send(text);
}

/** Signing in, and proving oneself once more. */
function useForms(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  server.post(
    '/sign-in/passkey/options',
    askedByScript(app, async (request, reply) => {
      const rpId = rpIdOf(hostOf(request));
      if (rpId === undefined) return whyNoPasskeys(app, request, '/sign-in');
      if (!fieldOf(request, 'again')) return { publicKey: requestOptions(await setChallenge(app, reply, 'sign-in'), rpId) };
      const person = await requireSignedIn(app, request, '/account');
      const known = await knownCredentials(app, person.id, rpId);
      if (known.length === 0) return { reason: `You have no passkey on ${rpId}.` };
      return { publicKey: requestOptions(await setChallenge(app, reply, `again ${person.session_id}`), rpId, known) };
    }),
  );
  server.post(
    '/sign-in/passkey',
    askedByScript(app, async (request, reply) => {
      const visitor = await signingIn(app, request);
      const signedIn = await attempts.lookUp(request.raw, undefined, () =>
        signInByPasskey(app, assertionOf(request), { ...ceremonyOf(app, request, 'sign-in'), visitor }),
      );
      forgetChallenge(app, reply);
      setSession(app, reply, signedIn!.key);
      return { next: nextOf(request) };
    }),
  );
  server.post(
    '/sign-in/again/passkey',
    askedByScript(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, '/account');
      const ceremony = ceremonyOf(app, request, `again ${person.session_id}`);
      await attempts.lookUp(request.raw, undefined, async () => {
        await renewByPasskey(app, person, assertionOf(request), ceremony);
        return person;
      });
      forgetChallenge(app, reply);
      return { next: nextOf(request) };
    }),
  );
}

/** The page, and adding one. */
function addForms(server: FastifyInstance, app: Forms): void {
  server.get(
    path,
    shownPage(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const rpId = rpIdOf(hostOf(request));
      const body = passkeysPage({
        passkeys: await app.db.read((tx) => passkeysOf(tx, person.id)),
        rpId,
        why: whyNoPasskeys(app, request, path),
        isFresh: person.is_fresh && !(await lacksSecondFactor(app, person)),
        suggestedName: browserName(visitorOf(app, request).agent) || 'Passkey',
      });
      sendAccountPage(reply, 'Passkeys', path, body, passkeyScriptPath);
    }),
  );
  server.post(
    `${path}/options`,
    askedByScript(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const rpId = rpIdOf(hostOf(request));
      if (rpId === undefined) return whyNoPasskeys(app, request, path);
      const known = await knownCredentials(app, person.id, rpId);
      const challenge = await setChallenge(app, reply, `add ${person.session_id}`);
      return { publicKey: creationOptions({ challenge, rpId, user: person, known }) };
    }),
  );
  server.post(
    path,
    askedByScript(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const registration = parseRegistration(fieldOf(request, 'credential')) ?? malformed();
      const name = fieldOf(request, 'name');
      await addPasskey(app, person, registration, { ...ceremonyOf(app, request, `add ${person.session_id}`), name });
      forgetChallenge(app, reply);
      return { next: path };
    }),
  );
}

function changeForms(server: FastifyInstance, app: Forms): void {
  server.post(
    `${path}/:id/name`,
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, path);
      await renamePasskey(app, person, paramOf(request, 'id'), fieldOf(request, 'name'), visitorOf(app, request));
      reply.redirect(path, 303);
    }),
  );
  server.post(
    `${path}/:id/remove`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const which = { id: paramOf(request, 'id'), rpId: rpIdOf(hostOf(request)) };
      await removePasskey(app, person, which, visitorOf(app, request));
      reply.redirect(path, 303);
    }),
  );
}

/** Checked to be ours before a page acts. */
const hostOf = ({ headers }: FastifyRequest): string => headers.host ?? '';

/** A passkey cannot be bound to an IP address. `open` is the address of the page that has a name. */
function whyNoPasskeys(app: Forms, request: FastifyRequest, wanted: string): { reason: string; open?: string } {
  const { hostname, origin, protocol } = new URL(app.publicUrl());
  const reason = 'A passkey belongs to a host name, and the address of this page has none.';
  if (rpIdOf(hostname) !== undefined) return { reason, open: origin + wanted };
  const { hostname: own, port } = new URL(`http://${hostOf(request)}`);
  if (own === '127.0.0.1' || own === '[::1]') return { reason, open: `${protocol}//localhost${port && `:${port}`}${wanted}` };
  return { reason: `${reason} The operator can give this server one with QUARTERDECK_PUBLIC_URL.` };
}

const knownCredentials = async (app: Forms, userId: string, rpId: string): Promise<KnownCredential[]> =>
  (await app.db.read((tx) => passkeysOf(tx, userId)))
    .filter((passkey) => passkey.rp_id === rpId)
    .map(({ credential_id, transports }) => ({ credentialId: credential_id.toString('base64url'), transports }));

const challengeCookie = (app: Forms) => (usesSecureCookies(app) ? '__Host-qd-challenge' : 'qd-challenge');

async function setChallenge(app: Forms, reply: FastifyReply, ceremony: Ceremony): Promise<string> {
  const { challenge, sealed } = await makeChallenge(app, ceremony);
  reply.header('Set-Cookie', ownCookie(challengeCookie(app), sealed, usesSecureCookies(app), challengeSeconds));
  return challenge;
}

const forgetChallenge = (app: Forms, reply: FastifyReply) =>
  reply.header('Set-Cookie', ownCookie(challengeCookie(app), '', usesSecureCookies(app), 0));

function ceremonyOf(app: Forms, request: FastifyRequest, ceremony: Ceremony): Ceremonial {
  const host = hostOf(request);
  return {
    challenge: openChallenge(app, cookieIn(request.raw, app, challengeCookie(app)), ceremony),
    rpId: rpIdOf(host) ?? invalid('a passkey belongs to a host name, and this address has none'),
    origin: originOf(host, app.publicUrl(), app.peers.isSecure(request.raw)),
    visitor: visitorOf(app, request),
  };
}

const assertionOf = (request: FastifyRequest) => parseAssertion(fieldOf(request, 'credential')) ?? malformed();

function malformed(): never {
  throw new Refusal(401, 'passkey_wrong', 'the answer of the passkey is not readable; try again');
}
