import { setTimeout as sleep } from 'node:timers/promises';
import { listServers, type Server } from '../../kernel/data/servers.ts';
import type { Db } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import type { Step } from './ring.ts';

/** A server reads a changed key file within a second or two, and says so. */
const readWithinMs = 5_000;

interface Asked {
  db: Db;
  timeoutMs?: number;
}

/**
 * Throws if a server could not open, after this step, what another one seals. To promote a key, every server must hold it. To seal old values
 * anew, and to drop the old keys, every server must also seal with it.
 */
export async function requireHolders({ db, timeoutMs = readWithinMs }: Asked, keyId: string, step: Step): Promise<void> {
  const isReady = ({ keyIds }: Server) => (step === 'promote' ? keyIds?.includes(keyId) : keyIds?.[0] === keyId) ?? false;
  for (const until = performance.now() + timeoutMs; ; await sleep(200)) {
    const behind = (await db.read(listServers)).filter((server) => !isReady(server));
    if (behind.length === 0) return;
    if (performance.now() > until) throw lagging(behind, keyId, step);
  }
}

function lagging(behind: readonly Server[], keyId: string, step: Step): Stop {
  const hosts = [...new Set(behind.map(({ host, node }) => `${host}${node === null ? ' (which has not said its keys)' : ''}`))].join(', ');
  const lacks = step === 'promote' ? `do not hold the key ${keyId} yet` : `do not seal with the key ${keyId} yet`;
  return new Stop(
    exitCodes.refused,
    `the step ${step} would part the servers: those on ${hosts} ${lacks}; copy this secret.key to them, then run the step again`,
  );
}
