import { setTimeout as sleep } from 'node:timers/promises';
import { areas } from '../../areas/index.ts';
import type { Config } from '../../kernel/config.ts';
import { readNodeId } from '../../kernel/data/node.ts';
import { listServers } from '../../kernel/data/servers.ts';
import type { Db } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { keyFile } from '../../kernel/secrets.ts';
import type { Session } from '../session.ts';
import type { Step } from './ring.ts';
import { type Rotation, rotateKey, rotateStep } from './rotate-key.ts';

/** Servers look at the key file once a second. */
const keyFileReadMs = 3_000;

export async function changeKey({ config, database, db }: Session, o: { dropOld?: true; step?: Step }) {
  if (o.step && o.dropOld) throw new Stop(exitCodes.usage, '--drop-old and --step do not go together; use --step drop');
  const rotation: Rotation = {
    db,
    connection: database.direct,
    dataDir: config.data,
    sealed: areas.flatMap((area) => area.sealed ?? []),
    // Beside the embedded database everybody is to be seen; who may be hidden behind a pooler is waited for.
    settle: async () => {
      if (!database.embedded || (await db.read(listServers)).length) await sleep(keyFileReadMs);
    },
    say: (sentence) => console.log(sentence),
  };
  if (o.step) return rotateStep(rotation, o.step);
  await refuseOthers(db, config);
  await rotateKey(rotation, o);
  console.log(`keep a copy of ${keyFile(config.data)} apart from the backups`);
}

/** A data directory has a key file; two of them on one machine have two. */
async function refuseOthers(db: Db, config: Config) {
  const own = await readNodeId(config);
  const elsewhere = [...new Set((await db.read(listServers)).filter(({ node }) => node !== own).map(({ host }) => host))];
  if (!elsewhere.length) return;
  throw new Stop(
    exitCodes.refused,
    `servers with other data directories (${elsewhere.join(', ')}) have key files of their own: use --step add, promote and reseal, and copy secret.key to all of them after add and after promote`,
  );
}
