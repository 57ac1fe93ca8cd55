import { audit, operator } from '../../../identity/audit.ts';
import { topics } from '../../../identity/principal.ts';
import { dropRights, lockRights } from '../../../identity/rights-lock.ts';
import { hashKey, kindOf, mintKey } from '../../../identity/token-format.ts';
import { notifyDrop } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { findMachineToken, lastsFor, lockMachineToken, type MachineOwner, machineOwner } from '../store/machine-token.ts';
import { insertToken, type NewToken, renewToken } from '../store/tokens.ts';
import { revokeLineage } from './lineage.ts';

const name = 'this machine';
/** Minted tokens end with it at the latest, so it has the longest lifetime that is allowed. */
const lifetimeSeconds = 366 * 86_400;
const renewWithDaysLeft = 30;

/**
 * A new key for the owner's token that a machine keeps in a file; `present` is the key in the file. Undefined: that token is valid for long
 * enough, or there is no owner.
 */
export async function refreshMachineToken(tx: Tx, present: string, file: string): Promise<string | undefined> {
  if (kindOf(present) && (await lastsFor(tx, hashKey(present), renewWithDaysLeft))) return undefined;
  const owner = await machineOwner(tx);
  if (!owner) return undefined;
  const { org_id: org, user_id: user } = owner;
  const { key, start, hash } = mintKey('pat');
  const next = { start, hash, expiresIn: lifetimeSeconds };
  const renewed = await renewPresent(tx, owner, present, next);
  const token = renewed ?? (await insertToken(tx, { org, user, name, scope: [], ceilings: [], ...next }));
  await audit(tx, operator(org), renewed ? 'tokens.token.renew' : 'tokens.token.create', token, { name: token.name, file });
  await notifyDrop(tx, topics.tokensOf(org, user));
  return key;
}

/**
 * Gives the present token a new key and a new expiry, so its descendants live on. A token that its owner disabled is deleted with its
 * descendants.
 */
async function renewPresent(tx: Tx, owner: MachineOwner, present: string, next: Pick<NewToken, 'start' | 'hash' | 'expiresIn'>) {
  const hash = hashKey(present);
  const found = await findMachineToken(tx, owner, name, hash);
  if (!found) return undefined;
  await lockRights(tx, owner.org_id, { revokes: [topics.credential(found.id)] });
  const old = await lockMachineToken(tx, owner, name, hash);
  if (!old) return undefined;
  await dropRights(tx, { drop: notifyDrop }, owner.org_id, topics.credential(old.id));
  if (old.enabled) return renewToken(tx, owner.org_id, { id: old.id, ...next });
  await revokeLineage(tx, owner.org_id, owner.user_id, old.id);
  return undefined;
}
