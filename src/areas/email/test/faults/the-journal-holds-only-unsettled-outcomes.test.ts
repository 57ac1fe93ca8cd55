import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openJournal, replayJournals } from '../../outbound/engine/queue/journal.ts';
import type { RecipientOutcome } from '../../outbound/store/queue.ts';

const fate = (id: number): RecipientOutcome => ({
  id,
  lease: 'lease',
  message_id: `msg_${id}`,
  state: 'delivered',
  after_seconds: 0,
  counts: false,
  error: null,
  bounce_type: null,
  handed: true,
  detail: { response: 'x'.repeat(1_000) },
});

test('the journal holds only unsettled outcomes, also under constant load', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qdj-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const journal = openJournal(folder);
  // At every moment a hundred are open, as under load: 10 MB go through it.
  const open: (() => void)[] = [];
  for (let id = 0; id < 10_000; id++) {
    open.push(journal.append(fate(id)));
    if (open.length > 100) open.shift()!();
    if (id % 1_000 === 0) assert.ok((await readdir(folder)).length <= 2);
  }
  const replayed: number[] = [];
  const replay = (isOurs?: (name: string) => boolean) =>
    replayJournals(folder, async (fates) => void replayed.push(...fates.map(({ id }) => id)), isOurs);
  assert.equal(await replay(journal.isOwnFile), 0, 'a process does not replay its own journal');
  await replay();
  for (let id = 9_900; id < 10_000; id++) assert.ok(replayed.includes(id), `${id} is in it`);

  // A process that looks dead may live in another container: its file stays until it was untouched for a while.
  const names = await readdir(folder);
  assert.ok(names.length > 0);
  for (const name of names) await utimes(join(folder, name), new Date(0), new Date(0));
  await replay();
  assert.deepEqual(await readdir(folder), []);
  for (const settled of open) settled();
  journal.close();
});
