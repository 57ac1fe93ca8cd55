import type { Guard } from '../guards.ts';
import type { Op } from './document.ts';

/** `generated/guards.json`: what each operation asks of its caller, one line each. */
export const guardsJson = (ops: Op[]): string =>
  `{\n${ops
    .map((op) => `${JSON.stringify(op.id)}: ${JSON.stringify(guardOf(op))}`)
    .toSorted()
    .join(',\n')}\n}\n`;

const guardOf = ({ permission, entitlement, kinds, scoped, personal, session, fresh, open, credential }: Op): Guard => ({
  permission,
  ...(entitlement ? { entitlement } : {}),
  ...(kinds.length ? { kinds } : {}),
  ...(scoped ? { scoped } : {}),
  ...(personal ? { personal } : {}),
  ...(session ? { session } : {}),
  ...(fresh ? { fresh } : {}),
  ...(open || (credential && credential !== 'token' && credential !== 'session') ? { foreign: true } : {}),
});
