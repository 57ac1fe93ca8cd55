import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { type Answer, digestOf, imageOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('a push waits for a database connection instead of being refused', async (t) => {
  const { send, app } = await registryServer(t);
  const waiting = () => app.db.connectionSlots.figures().find(({ org }) => org === 'org_test')?.waiting ?? 0;

  /** Runs an act while all connections of the organization are taken, until one attempt has timed out. */
  const crowded = async (act: () => Promise<Answer>): Promise<Answer> => {
    const gate = Promise.withResolvers<void>();
    const others: Promise<void>[] = [];
    // The last holder waits as well, and gives up before the push does.
    while (waiting() === 0)
      others.push(runFor({ org: 'org_test', operation: 'test' }, () => app.db.read(() => gate.promise), app.watch).catch(() => {}));
    const answer = act();
    let isOver = false;
    void answer.finally(() => {
      isOver = true;
    });
    while (!isOver && waiting() > 0) await sleep(5);
    while (!isOver && waiting() === 0) await sleep(5);
    gate.resolve();
    await Promise.allSettled(others);
    return answer;
  };

  const bytes = someBytes(10_000);
  const begun = await crowded(() => send('POST', '/v2/acme/app/blobs/uploads/'));
  assert.equal(begun.status, 202, begun.body.toString());
  const done = await crowded(() => send('PUT', `${begun.headers.location}?digest=${digestOf(bytes)}`, { body: bytes }));
  assert.equal(done.status, 201, done.body.toString());
  const image = imageOf([bytes]);
  await pushBlob(send, 'acme/app', image.blobs[0]!);
  const put = await crowded(() => send('PUT', '/v2/acme/app/manifests/v1', { body: image.body, headers: { 'Content-Type': image.type } }));
  assert.equal(put.status, 201, put.body.toString());
});
