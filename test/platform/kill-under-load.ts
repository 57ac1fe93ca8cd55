import type { TestContext } from 'node:test';
import { assertNoneLost, KillableServers, makeChance, untilAnyMoment } from '../harness/kill/index.ts';
import { scratch } from '../harness/process.ts';
import type { Caller } from '../harness/request.ts';
import { startHere } from './start-here.ts';

const writers = 4;

/** Writes until the connection breaks; every 201 is a promise. */
async function write(owner: Caller, round: number, writer: number, promised: Set<string>) {
  for (let n = 0; ; n++) {
    const answer = await (n % 2
      ? owner.post('/tokens', { name: `${round}-${writer}-${n}` })
      : owner.post('/uptime/services', { name: `${round}-${writer}-${n}` })
    ).catch(() => undefined);
    if (answer?.status !== 201) return;
    promised.add(answer.body.id);
  }
}

/** Every slice of a list. */
async function readAll(owner: Caller, path: string, name: string): Promise<{ id: string; target: string }[]> {
  const all = [];
  for (let cursor = ''; ; ) {
    const { body } = await owner.get(`${path}?limit=1000${cursor && `&cursor=${cursor}`}`);
    all.push(...body[name]);
    if (!body.cursor) return all;
    cursor = body.cursor;
  }
}

/** So many times it is killed while others write, in turn alone and with its database; then everything that was acknowledged is looked for. */
export async function killUnderLoad(t: TestContext, kills: number): Promise<void> {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const promised = new Set<string>();
  const chance = makeChance(t);
  const servers = new KillableServers(t, { dir, dataDir });

  for (let round = 0; round < kills; round++) {
    const owner = await servers.start().owner();
    const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(owner, round, writer, promised)));
    await untilAnyMoment(chance, () => promised.size, 20, 300);
    // Once us alone, once with the database's own processes in the middle of a commit.
    await servers.kill(0, { withDatabase: round % 2 === 1 });
    await writing;
  }

  const last = await startHere(t, { dir });
  const owner = await last.owner();
  const idOf = ({ id }: { id: string }) => id;
  const kept = new Set([
    ...(await readAll(owner, '/uptime/services', 'services')).map(idOf),
    ...(await readAll(owner, '/tokens', 'tokens')).map(idOf),
  ]);
  const audited = new Set((await readAll(owner, '/organization/audit', 'entries')).map(({ target }) => target));
  t.diagnostic(`${promised.size} acknowledged, ${kept.size} there after ${kills} kills`);
  assertNoneLost(promised, kept, 'there');
  assertNoneLost(promised, audited, 'in the audit log');
  await last.stop();
}
