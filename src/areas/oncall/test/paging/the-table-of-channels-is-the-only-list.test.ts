import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { channelNames } from '../../../../../contract/oncall/channels.ts';
import { oncall } from '../../../../../contract/oncall.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { PageFailed } from '../../clients/channels/channel.ts';
import { makeChannels } from '../../clients/channels/index.ts';
import { findSent, type Sender, sendPage } from '../../engine/send-page.ts';
import { addressKinds, noAddresses, readAddresses, refusalOfAddress } from '../../rules/addresses.ts';
import { addressOf, channels, failureOf, pageAsSubject, type Reachability, refusalOf, warningOf } from '../../rules/channels.ts';
import { preferencesOf, preferencesOfUsers, saveSettings } from '../../store/settings.ts';

test('the contract, the table, the senders and the database name the same channels', async (t) => {
  assert.deepEqual(Object.keys(channels), [...channelNames]);
  const offered = JSON.stringify(oncall.savePagingSettings.body);
  assert.ok(offered.includes(JSON.stringify(channelNames)), offered);

  const { app } = await quarterdeck(t);
  assert.deepEqual(Object.keys(makeChannels(app)).sort(), [...channelNames].sort());
  const checks = await app.db.read(
    (tx) => rows(tx, Type.Object({ definition: Type.String() }))`
      select pg_get_constraintdef(c.oid) as definition from pg_constraint c
       where c.conrelid = 'oncall.page'::regclass and c.contype = 'c'
         and c.conkey = array[(select attnum from pg_attribute where attrelid = c.conrelid and attname = 'channel')]`,
  );
  assert.equal(checks.length, 1, 'one check on oncall.page.channel');
  const allowed = [...checks[0]!.definition.matchAll(/'([^']*)'/g)].map((m) => m[1]);
  assert.deepEqual(
    allowed.sort(),
    [...channelNames].sort(),
    'the check on oncall.page.channel allows other words than contract/oncall/channels.ts; add a migration that replaces it',
  );
});

const fine: Reachability = { email: 'a@example.com', phone: '+33612345678', stopped: false, provider: 'works', relay: true };

test('what is missing is told to those who save, preview and send, each in their own words', () => {
  for (const channel of channelNames) {
    assert.equal(warningOf(channel, fine), undefined);
    assert.equal(failureOf(channel, fine, 'Ada'), undefined);
    assert.match(pageAsSubject(channel), /^An? \w+$/);
  }
  assert.equal(refusalOf(channelNames, fine), undefined);
  for (const channel of channelNames) assert.ok(addressOf(channel, fine), `${channel} goes nowhere`);
  assert.deepEqual([addressOf('email', fine), addressOf('sms', fine), addressOf('voice', fine)], [fine.email, fine.phone, fine.phone]);

  const bare: Reachability = { ...fine, phone: null, provider: 'none' };
  assert.equal(refusalOf(['email'], bare), undefined);
  const refusal = refusalOf(['email', 'sms'], bare);
  assert.equal(refusal?.status, 400);
  assert.match(refusal.sentence, /^sms and voice.* rules need a phone; add it, or use email.* rules only$/);
  assert.equal(refusalOf(['voice'], { ...fine, provider: 'none' })?.status, 409);
  assert.equal(refusalOf(['sms'], { ...fine, provider: 'broken', stopped: true, relay: false }), undefined, 'what may be mended by then');

  assert.match(warningOf('sms', bare)!, /^no-credential/);
  assert.match(warningOf('voice', { ...fine, phone: null })!, /no phone number/);
  assert.match(warningOf('sms', { ...fine, stopped: true })!, /STOP/);
  assert.equal(warningOf('voice', { ...fine, stopped: true }), undefined, 'STOP is about messages');
  assert.match(warningOf('voice', { ...fine, provider: 'broken' })!, /refused the organization’s credential/);
  assert.match(warningOf('email', { ...fine, relay: false })!, /QUARTERDECK_SMTP_RELAY/);

  assert.match(failureOf('sms', bare, 'Ada')!.sentence, /^no-credential/);
  assert.deepEqual(failureOf('voice', { ...fine, phone: null }, 'Ada'), { sentence: 'Ada has given no phone', retryAdvice: 'for good' });
  assert.match(failureOf('sms', { ...fine, stopped: true }, 'Ada')!.sentence, /^Ada texted STOP/);
  assert.equal(failureOf('sms', { ...fine, provider: 'broken' }, 'Ada'), undefined, 'it may work again, so it is tried');
  const unsent = failureOf('email', { ...fine, relay: false }, 'Ada');
  assert.match(unsent!.sentence, /QUARTERDECK_SMTP_RELAY/);
  assert.equal(unsent!.retryAdvice, 'until mended', 'mail may be sent by the next attempt, and the next rule does not wait');
});

test('a server of an older release leaves a page by a newer channel to the others, and says so', async () => {
  const page = { channel: 'pigeon' } as unknown as Parameters<typeof sendPage>[2];
  const isLeft = (error: unknown) =>
    error instanceof PageFailed && error.retryAdvice === 'until mended' && /older release.*pigeon/.test(error.message);
  await assert.rejects(sendPage({} as Sender, 'org', page), isLeft);
  await assert.rejects(findSent({} as Sender, 'org', page), isLeft);
  assert.equal(pageAsSubject(page.channel), 'A page');
});

test('every kind of address is saved, replaced and forgotten', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const { id } = (await owner.get('/me')).body;
  for (const round of ['first', 'second']) {
    const addresses = readAddresses(Object.fromEntries(addressKinds.map((kind) => [kind, `${round} ${kind}`])));
    await app.db.write((tx) => saveSettings(tx, owner.orgId, id, { addresses, rules: [] }));
    assert.deepEqual((await app.db.read((tx) => preferencesOf(tx, id))).addresses, addresses);
    assert.deepEqual((await app.db.read((tx) => preferencesOfUsers(tx, owner.orgId, [id]))).get(id)?.addresses, addresses);
  }
  await app.db.write((tx) => saveSettings(tx, owner.orgId, id, { addresses: noAddresses, rules: [] }));
  assert.deepEqual((await app.db.read((tx) => preferencesOf(tx, id))).addresses, noAddresses);
});

test('an address that is none of its kind is refused', () => {
  assert.equal(refusalOfAddress(noAddresses), undefined);
  assert.equal(refusalOfAddress({ ...noAddresses, phone: '+33612345678' }), undefined);
  assert.match(refusalOfAddress({ ...noAddresses, phone: '0612345678' })!, /^phone must be in E\.164/);
});
