import { randomBytes } from 'node:crypto';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import { formatRecoveryCode, hashRecoveryCode, recoveryCodes } from '../rules/recovery-codes.ts';
import { matchStep, totpSecretLength } from '../rules/totp.ts';
import { hasPassword } from '../store/passwords.ts';
import { hasTotp } from '../store/pending.ts';
import { confirmTotp, deleteTotp, lockTotp, replaceRecoveryCodes, saveUnconfirmed, sealContext, totpOf } from '../store/totp.ts';
import { changeEndingOthers } from './ending-sessions.ts';
import { tellPerson } from './notices.ts';
import { loseMethods, type Person, record, renew, type Visitor, writeAs } from './sessions.ts';
import { revokeOwnTokens } from './tokens.ts';

// An authenticator app: begin stores a secret that does not count yet → confirm with a right code makes it count, and makes the recovery codes.
// A kill between the two leaves a secret that is never asked for; the person begins anew. A kill after the second leaves codes that were
// not seen; the person makes others.

/** Stores a secret that the person's app is to learn. */
export const beginApp = (app: Pick<App, 'db' | 'secrets'>, person: SignedIn): Promise<void> =>
  writeAs(app, person, async (tx) => {
    if (!(await hasPassword(tx, person.id))) conflict('codes are asked for after a password, and you have none; choose a password first');
    const secret = app.secrets.seal(randomBytes(totpSecretLength).toString('base64'), sealContext(person.id));
    if (!(await saveUnconfirmed(tx, person.id, secret))) conflict('an authenticator app is set up already; remove it first');
  });

/** The secret that waits for its first code. */
export async function unconfirmedSecret(tx: Tx, { secrets }: Pick<App, 'secrets'>, person: Person): Promise<Buffer | undefined> {
  const found = await totpOf(tx, person.id);
  return found && !found.is_confirmed ? Buffer.from(secrets.unseal(found.secret, sealContext(person.id)), 'base64') : undefined;
}

/** The app counts once a code of it was right. Returns the recovery codes, which are shown once. */
export const confirmApp = (app: App, person: SignedIn, typed: string, visitor: Visitor): Promise<string[]> =>
  writeAs(app, person, async (tx) => {
    const found = (await lockTotp(tx, person.id)) ?? conflict('no authenticator app is being set up; begin again');
    if (found.is_confirmed) conflict('an authenticator app is set up already; remove it first');
    const secret = Buffer.from(app.secrets.unseal(found.secret, sealContext(person.id)), 'base64');
    const step =
      matchStep(secret, typed.replaceAll(/\s/g, ''), found.now_seconds, found.last_step) ??
      invalid('the code is wrong; mind that the clock of your phone is right, and type the code that the app shows now');
    await confirmTotp(tx, person.id, step);
    await record(tx, person, visitor, 'account.totp.add', person.id);
    await tellPerson(tx, app, person, {
      subject: 'An authenticator app was added',
      text: `Signing in to ${person.email} by password asks for a code of an authenticator app from now on.`,
    });
    await renew(tx, app, person, { id: person.session_id, methods: ['totp'] }, visitor);
    return newRecoveryCodes(tx, person);
  });

async function newRecoveryCodes(tx: Tx, person: Person): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodes.count }, () => formatRecoveryCode(randomBytes(recoveryCodes.bytes)));
  await replaceRecoveryCodes(
    tx,
    person.id,
    codes.map((code) => hashRecoveryCode(person.id, code)),
  );
  return codes;
}

/** Makes recovery codes anew; the ones before end. */
export const renewRecoveryCodes = (app: App, person: SignedIn, visitor: Visitor): Promise<string[]> =>
  writeAs(app, person, async (tx) => {
    const found = await lockTotp(tx, person.id);
    if (!found?.is_confirmed) conflict('recovery codes stand in for an authenticator app, and none is set up');
    await record(tx, person, visitor, 'account.recovery-codes.renew', person.id);
    await tellPerson(tx, app, person, {
      subject: 'New recovery codes were made',
      text: `New recovery codes were made for ${person.email}. The ones before work no more.`,
    });
    return newRecoveryCodes(tx, person);
  });

/** Removes the app and its recovery codes, and ends the other sessions. Tokens are revoked first, if asked for. */
export async function removeApp(app: App, person: SignedIn, revokesTokens: boolean, visitor: Visitor): Promise<void> {
  if (revokesTokens) await revokeOwnTokens(app, person, visitor.requestId);
  await changeEndingOthers(app, person, visitor, async (tx) => {
    const isOn = await hasTotp(tx, person.id);
    await deleteTotp(tx, person.id);
    await replaceRecoveryCodes(tx, person.id, []);
    await loseMethods(tx, app, person, person.session_id, ['totp', 'recovery']);
    if (!isOn) return;
    await record(tx, person, visitor, 'account.totp.remove', person.id);
    await tellPerson(tx, app, person, {
      subject: 'The authenticator app was removed',
      text: `Signing in to ${person.email} by password asks for no code any more.`,
    });
  });
}
