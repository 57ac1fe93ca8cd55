import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { cutLink } from '../fakes/cut-link.ts';
import { caller, quarterdeck } from '../harness/index.ts';
import { urlOf } from '../harness/postgres.ts';
import { eventually, scratch } from '../harness/process.ts';
import { startHere } from './start-here.ts';

const promisedMs = 3_000;
/** What a busy machine may add before a timer or an answer arrives; the promise itself is the figure that is printed. */
const slackMs = 2_000;

test('a server whose link is cut without notice stops trusting what it remembers', async (t) => {
  const a = await quarterdeck(t);
  const { host, port, ...rest } = a.connection;
  const link = await cutLink(t, { path: join(String(host), `.s.PGSQL.${port}`) });
  const { dir } = await scratch(t);
  // Its statements go another way, as past a pooler: only the ear is cut off.
  const url = new URL(`postgresql://${rest.user}@127.0.0.1:${link.port}/${rest.database}`);
  url.password = encodeURIComponent(String(rest.password));
  const b = await startHere(t, {
    dir,
    dataDir: a.dataDir,
    env: { QUARTERDECK_DATABASE_URL: urlOf(a.connection), QUARTERDECK_DATABASE_DIRECT_URL: url.href, QUARTERDECK_METRICS_TOKEN: 'numbers' },
  });
  const urlB = b.url;
  const hearing = async () => {
    const answer = await fetch(`${urlB}/metrics`, { headers: { authorization: 'Bearer numbers' } });
    return /^quarterdeck_listener_hearing (\d)$/m.exec(await answer.text())?.[1] === '1';
  };
  await eventually(hearing);

  const victim = (await a.owner.post('/tokens', { name: 'victim' })).body;
  const onB = caller(urlB, victim.key);
  // Several times: what was read while the word of its making was still on its way is not remembered.
  for (let n = 0; n < 5; n++) assert.equal((await onB.get('/me')).status, 200);

  link.cut();
  const cutAt = performance.now();
  assert.equal((await a.owner.delete(`/tokens/${victim.id}`)).status, 204);
  let accepted = 0;
  await eventually(
    async () => {
      const sent = performance.now();
      if ((await onB.get('/me')).status === 401) return true;
      accepted = sent;
      return false;
    },
    { withinMs: promisedMs + slackMs, everyMs: 20 },
  );
  assert.ok(accepted > 0, 'it was not remembered, so nothing was shown');
  t.diagnostic(`last trusted ${(accepted - cutAt).toFixed(0)} ms after the cut (promised: ${promisedMs} ms)`);

  // Deaf, it asks the database each time: right, only slower.
  assert.equal(await hearing(), false);
  assert.equal((await caller(urlB, a.owner.key).get('/me')).status, 200);

  link.mend();
  await eventually(hearing);
  const next = (await a.owner.post('/tokens', { name: 'next' })).body;
  assert.equal((await caller(urlB, next.key).get('/me')).status, 200);
  assert.equal((await a.owner.delete(`/tokens/${next.id}`)).status, 204);
  await eventually(async () => (await caller(urlB, next.key).get('/me')).status === 401, { withinMs: 1_000 });
  await b.stop();
});
