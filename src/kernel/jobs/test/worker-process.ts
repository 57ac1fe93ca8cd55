/**
 * A worker in a process of its own: `worker-process.ts <name> <kinds> <connection>`.
 * `write` writes a deed and ends; `wait` writes `began`, waits until public.go has a row with its key, then finishes with a deed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { rows, run } from '../../db/index.ts';
import { type Job, job, startWorker } from '../index.ts';
import { makeApp } from './support.ts';

const [name, kinds, connection] = process.argv.slice(2) as [string, string, string];
const { app, close } = await makeApp(JSON.parse(connection));

const deed = (what: string, key: string, attempt: number) => (tx: Parameters<typeof run>[0]) =>
  run(tx)`insert into public.deed (who, what, key, attempt) values (${name}, ${what}, ${key}, ${attempt})`;

const all: Job[] = [
  job('write', {}, async ({ key, attempt }) => {
    await app.db.read(deed('wrote', key, attempt));
  }),
  job('wait', {}, async ({ key, attempt, signal, finishWith }) => {
    await app.db.read(deed('began', key, attempt));
    console.log(`began ${key}`);
    signal.addEventListener('abort', () => console.log(`aborted ${key}`));
    const Go = Type.Object({ key: Type.String() });
    while ((await app.db.read((tx) => rows(tx, Go)`select key from public.go where key = ${key}`)).length === 0) await sleep(20);
    await finishWith(deed('finished', key, attempt)).then(
      () => console.log(`finished ${key}`),
      (error) => console.log(`refused ${key}: ${error.name}`),
    );
  }),
];

const worker = startWorker({
  app,
  jobs: all.filter((j) => kinds.split(',').includes(j.kind)),
  renewEveryMs: 200,
  events: { ended: ({ kind, outcome }) => console.log(`ended ${kind} ${outcome}`) },
});
console.log('ready');
process.once('SIGTERM', async () => {
  await worker.stop({ graceMs: 200 });
  await close();
  console.log('stopped');
});
