import { oneLine } from '../../../identity/rules/one-line.ts';
import { accountById } from '../../../identity/store/members.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound, Refusal } from '../../../kernel/errors.ts';
import { type Assertion, hasGoneBack, knownTransports, type Registration } from '../rules/ceremony.ts';
import {
  countPasskeys,
  deletePasskey,
  hasWayInAt,
  insertPasskey,
  lockWaysIn,
  type PasskeyRow,
  passkeyByCredential,
  renamePasskeyRow,
  usePasskey,
} from '../store/passkeys.ts';
import { type Challenge, useChallenge } from './challenges.ts';
import { changeEndingOthers } from './ending-sessions.ts';
import { tellPerson } from './notices.ts';
import { lockFormer, loseMethods, record, renew, startSession, type Visitor, writeAs } from './sessions.ts';
import { type CeremonyPlace, verifyAssertion, verifyRegistration } from './verify-passkey.ts';

// Signatures are verified before the transaction, which then takes the challenge and everything that it leads to. After a crash there is
// neither, and the person begins anew: no passkey is half added, no challenge is used up without its session.

type Host = Pick<App, 'db' | 'config' | 'caches' | 'log' | 'mail' | 'publicUrl'>;

/** A ceremony: where, by whom, and the challenge that the browser brought back. */
export interface Ceremonial extends Omit<CeremonyPlace, 'challenge'> {
  challenge: Challenge;
  visitor: Visitor;
}

const maxPasskeys = 20;
const maxNameLength = 100;

/** Signs in the person whose passkey it is. */
export async function signInByPasskey(app: Host, assertion: Assertion, ceremony: Ceremonial) {
  const { passkey, use } = await verifyUse(app, assertion, ceremony);
  return app.db.write(async (tx) => {
    await lockFormer(tx, ceremony.visitor);
    await useChallenge(tx, ceremony.challenge);
    const person = await noteUse(tx, app, passkey, use, ceremony.visitor);
    return startSession(tx, app, person, ['passkey'], ceremony.visitor);
  });
}

/** The signed-in person proves themselves once more. */
export async function renewByPasskey(app: Host, person: SignedIn, assertion: Assertion, ceremony: Ceremonial): Promise<void> {
  const { passkey, use } = await verifyUse(app, assertion, ceremony);
  if (passkey.user_id !== person.id) unknownPasskey();
  await writeAs(app, person, async (tx) => {
    await useChallenge(tx, ceremony.challenge);
    await noteUse(tx, app, passkey, use, ceremony.visitor);
    await renew(tx, app, person, { id: person.session_id, methods: ['passkey'] }, ceremony.visitor);
  });
}

async function verifyUse(app: Host, assertion: Assertion, { challenge, origin, rpId }: Ceremonial) {
  const credentialId = Buffer.from(assertion.id, 'base64url');
  const passkey = (await app.db.read((tx) => passkeyByCredential(tx, credentialId))) ?? unknownPasskey();
  const use = await verifyAssertion(assertion, passkey, { challenge: challenge.challenge, origin, rpId }).catch((error) => {
    app.log.info({ passkey: passkey.id, user: passkey.user_id, why: String(error.cause ?? error) }, 'a passkey was refused');
    throw error;
  });
  return { passkey, use };
}

/** Notes a use, and returns whose passkey it is. Some authenticators count wrongly, so a counter that goes back is told and not refused. */
async function noteUse(tx: Tx, app: Host, { id, user_id }: PasskeyRow, use: { counter: number; isBackedUp: boolean }, visitor: Visitor) {
  const before = (await usePasskey(tx, id, use)) ?? unknownPasskey();
  const person = (await accountById(tx, user_id)) ?? unknownPasskey();
  if (!hasGoneBack(before.counter, use.counter)) return person;
  app.log.warn(
    { passkey: id, user: user_id, counter: use.counter, before: before.counter },
    'the counter of a passkey went back; it may be copied',
  );
  await record(tx, person, visitor, 'account.passkey.went-back', id, { counter: use.counter, before: before.counter });
  await tellPerson(tx, app, person, {
    subject: 'A passkey may have been copied',
    text: `The passkey “${before.name}” of ${person.email} counted backwards when it was used from ${visitor.address}. Either its device counts wrongly, or a copy of it is in use. Remove it if you are not sure.`,
  });
  return person;
}

/** Adds a passkey. The session has it as a method from now on. */
export async function addPasskey(app: Host, person: SignedIn, registration: Registration, wanted: Ceremonial & { name: string }) {
  const { challenge, origin, rpId, visitor } = wanted;
  const made = await verifyRegistration(registration, { challenge: challenge.challenge, origin, rpId });
  return writeAs(app, person, async (tx) => {
    await useChallenge(tx, challenge);
    await lockWaysIn(tx, person.id);
    if ((await countPasskeys(tx, person.id)) >= maxPasskeys) conflict(`you have ${maxPasskeys} passkeys; remove one first`);
    const name = passkeyName(wanted.name);
    const added =
      (await insertPasskey(tx, { ...made, userId: person.id, transports: knownTransports(registration), rpId, name })) ??
      conflict('this passkey is registered already');
    await record(tx, person, visitor, 'account.passkey.add', added.id, { name, host: rpId });
    await renew(tx, app, person, { id: person.session_id, methods: ['passkey'] }, visitor);
    const text = `The passkey “${name}” was added to your account on ${rpId}, from ${visitor.address}.`;
    await tellPerson(tx, app, person, { subject: 'A passkey was added to your account', text });
    return added;
  });
}

export const renamePasskey = (app: Host, person: SignedIn, id: string, wanted: string, visitor: Visitor) =>
  writeAs(app, person, async (tx) => {
    const name = passkeyName(wanted);
    const before = (await renamePasskeyRow(tx, person.id, id, name)) ?? notFound('passkey');
    await record(tx, person, visitor, 'account.passkey.rename', id, { name, before: before.name });
  });

/** Removes a passkey, unless no way in would be left at the host of the page. Other sessions may be those of a thief who has it: they end. */
export const removePasskey = (
  app: Host,
  person: SignedIn,
  { id, rpId }: { id: string; rpId: string | undefined },
  visitor: Visitor,
): Promise<void> =>
  changeEndingOthers(app, person, visitor, async (tx) => {
    await lockWaysIn(tx, person.id);
    const { name } = (await deletePasskey(tx, person.id, id)) ?? notFound('passkey');
    if (!(await hasWayInAt(tx, person.id, rpId)))
      conflict('this is the last way into your account; add another passkey or set a password first');
    if (!(await countPasskeys(tx, person.id))) await loseMethods(tx, app, person, person.session_id, ['passkey']);
    await record(tx, person, visitor, 'account.passkey.remove', id, { name });
    const text = `The passkey “${name}” was removed from your account, from ${visitor.address}. You were signed out everywhere else.`;
    await tellPerson(tx, app, person, { subject: 'A passkey was removed from your account', text });
  });

const passkeyName = (wanted: string): string => [...oneLine(wanted)].slice(0, maxNameLength).join('') || 'Passkey';

function unknownPasskey(): never {
  throw new Refusal(401, 'passkey_unknown', 'this passkey is not known here: it was removed, or is of another server; sign in another way');
}
