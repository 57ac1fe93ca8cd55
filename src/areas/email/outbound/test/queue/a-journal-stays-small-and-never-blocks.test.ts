import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openJournal, replayJournals } from '../../engine/queue/journal.ts';
import type { RecipientOutcome } from '../../store/queue.ts';

const fate = (id: number): RecipientOutcome => ({
  id,
  lease: 'l',
  message_id: 'msg_1',
  state: 'delivered',
  after_seconds: 0,
  counts: false,
  error: null,
  bounce_type: null,
  handed: true,
  detail: { response: 'x'.repeat(500) },
});

test('a journal stays small and never blocks', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'journal-'));
  t.after(() => rm(folder, { recursive: true }));
  const bytes = async () => {
    let sum = 0;
    for (const name of await readdir(folder)) sum += (await stat(join(folder, name))).size;
    return sum;
  };

  await t.test('under constant load', async () => {
    const journal = openJournal(folder);
    const open: (() => void)[] = [];
    for (let n = 0; n < 20_000; n++) {
      open.push(journal.append(fate(n)));
      if (n >= 20) open.shift()!();
    }
    assert.ok((await bytes()) < 3 * 2 ** 20, String(await bytes()));
    const left: number[] = [];
    await replayJournals(folder, async (fates) => left.push(...fates.map(({ id }) => id)));
    for (let n = 19_980; n < 20_000; n++) assert.ok(left.includes(n), String(n));
    for (const settled of open) settled();
    assert.equal(await bytes(), 0);
    journal.close();
  });

  await t.test('when it is removed by another process that starts', async () => {
    for (const n of [1, 2]) await writeFile(join(folder, `outcomes-999999999-${n}`), `${JSON.stringify(fate(n))}\n`);
    const removeAll = async () => {
      for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
    };
    await replayJournals(folder, removeAll);
  });

  await t.test('after its end, when another file may have its number', () => {
    const journal = openJournal(folder);
    const settled = journal.append(fate(1));
    journal.close();
    settled();
  });
});
