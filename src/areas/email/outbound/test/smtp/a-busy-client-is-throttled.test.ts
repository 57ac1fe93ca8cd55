import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkContext } from '../../../../../kernel/fairness/index.ts';
import { smtpDoor } from '../../../test/smtp-scene.ts';

test('a client that sends without pause is throttled in favour of other tenants', async (t) => {
  const { server, keys, speak } = await smtpDoor(t);
  const { watch } = server.app;
  const usual = watch.takeTurn;
  const rested = Promise.withResolvers<void>();
  const acts = new Set<string>();
  t.mock.method(watch, 'takeTurn', (context?: WorkContext) => {
    if (context?.org !== 'org_a') return usual(context);
    acts.add(context.operation);
    return rested.promise;
  });
  const logIn = async (org: string) => {
    const client = await speak();
    await client.say('EHLO client.example');
    assert.match(await client.say(`AUTH PLAIN ${Buffer.from(`\0apikey\0${keys.mint({ org }).secret}`).toString('base64')}`), /^235/);
    return client;
  };
  const loud = await logIn('org_a');
  const other = await logIn('org_b');

  const heard = loud.say('NOOP\r\nMAIL FROM:nonsense\r\nNOOP');
  assert.match(await other.say('NOOP'), /^250/, 'a client with little use is answered at once');
  assert.equal(await Promise.race([heard, other.say('NOOP').then(() => 'nothing yet')]), 'nothing yet');
  assert.deepEqual([...acts], ['smtp submission']);
  rested.resolve();
  assert.match(await heard, /^250/);
  assert.match(await loud.hear(), /^501/);
  assert.match(await loud.hear(), /^250/);
});
