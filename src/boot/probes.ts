import { timingSafeEqual } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { makeAttempts } from '../identity/attempts.ts';
import { hashKey } from '../identity/token-format.ts';
import type { App } from '../kernel/app.ts';
import { heldSentence } from '../kernel/backup/restore-hold.ts';
import { isFull } from '../kernel/data/disk-space.ts';
import { Refusal } from '../kernel/errors.ts';
import { listRoles, type Role } from '../kernel/roles.ts';
import { now } from '../kernel/time.ts';
import { build } from '../kernel/version.ts';

export interface Probed {
  roles: ReadonlySet<Role>;
  /** Aborted when the server begins to end. */
  leaving: AbortSignal;
}

/** What watches us: alive, ready, and the numbers. */
export function probes(server: FastifyInstance, app: App, metrics: Registry, { roles, leaving }: Probed) {
  server.get('/healthz', (_request, reply) => reply.type('text/plain').header('quarterdeck-build', build).send('ok\n'));

  server.get('/readyz', async (_request, reply) => {
    if (leaving.aborted) throw new Refusal(503, 'stopping', 'this server stops; ask another one, or again in a moment', { isTold: true });
    await requireDiskSpace(app);
    await app.db.read(now); // the error handler answers 503 while the database is away
    return reply.type('text/plain').send(`ready: ${listRoles(roles)}\n${app.hold.isHeld ? `${heldSentence}\n` : ''}`);
  });

  // The operator chose this token, and may have chosen a short one: who guesses is not heard again for a while, whatever comes.
  const attempts = makeAttempts(app);
  server.get('/metrics', async (request, reply) => {
    if (request.headers.authorization !== undefined) attempts.refuseWhileTooMany(request.raw);
    const expected = app.config.metrics_token;
    const given = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!expected || !timingSafeEqual(hashKey(given), hashKey(expected))) {
      if (given) attempts.failed(request.raw);
      throw new Refusal(
        401,
        'unauthenticated',
        'unauthenticated: send the token of QUARTERDECK_METRICS_TOKEN, or give metrics an address of their own with QUARTERDECK_METRICS_LISTEN',
      );
    }
    return reply.type(metrics.contentType).send(await metrics.metrics());
  });
}

/** A database whose disk is full still reads. Background work writes every few seconds, so a disk that is still full is met again soon. */
const fullForMs = 30_000;

async function requireDiskSpace({ db, config }: App): Promise<void> {
  if (db.sinceFull() < fullForMs) throw full('the disk of the database is full');
  // A failed statfs does not make the server unready: the underlying fault shows elsewhere.
  const disk = await statfs(config.data).catch(() => undefined);
  if (disk && isFull(disk)) throw full(`the disk at ${config.data} is full`);
}

const full = (what: string) => new Refusal(503, 'unavailable', `${what}; free some space there`, { isTold: true });
