import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { hashRecoveryCode } from '../rules/recovery-codes.ts';
import { isTotpCode, matchStep } from '../rules/totp.ts';
import { lockTotp, recoveryCodesLeft, sealContext, useRecoveryCode, useStep } from '../store/totp.ts';
import { tellPerson } from './notices.ts';
import { type Person, record, type Visitor } from './sessions.ts';

export type CodeHost = Pick<App, 'secrets' | 'mail' | 'publicUrl'>;

/** How a code proves a person: by the app, or as one of the recovery codes. Used up with the transaction. Undefined: it is wrong, or was used. */
export async function useCode(
  tx: Tx,
  app: CodeHost,
  person: Person,
  typed: string,
  visitor: Visitor,
): Promise<'totp' | 'recovery' | undefined> {
  const totp = await lockTotp(tx, person.id);
  if (!totp?.is_confirmed) return undefined;
  const code = typed.replaceAll(/\s/g, '');
  if (!isTotpCode(code)) return (await passRecoveryCode(tx, app, person, code, visitor)) ? 'recovery' : undefined;
  const secret = Buffer.from(app.secrets.unseal(totp.secret, sealContext(person.id)), 'base64');
  const step = matchStep(secret, code, totp.now_seconds, totp.last_step);
  if (step === undefined) return undefined;
  await useStep(tx, person.id, step);
  return 'totp';
}

async function passRecoveryCode(tx: Tx, app: CodeHost, person: Person, code: string, visitor: Visitor): Promise<boolean> {
  if (!(await useRecoveryCode(tx, person.id, hashRecoveryCode(person.id, code)))) return false;
  const left = await recoveryCodesLeft(tx, person.id);
  await record(tx, person, visitor, 'account.recovery-code.use', person.id, { left, address: visitor.address });
  await tellPerson(tx, app, person, {
    subject: 'A recovery code was used',
    text: `A recovery code of ${person.email} was used instead of the authenticator app, from ${visitor.address}. ${left} are left.`,
  });
  return true;
}
