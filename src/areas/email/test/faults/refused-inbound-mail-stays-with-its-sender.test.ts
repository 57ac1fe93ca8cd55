import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { takeDatabase } from '../../../oncall/test/support.ts';
import { deliverTo, letterIn, type MxScene, mxScene } from '../../inbound/test/receiving/mx-scene.ts';
import { speakSmtp } from '../smtp-scene.ts';

const large = letterIn().concat('x'.repeat(70).concat('\r\n').repeat(5_000));

async function fillDisk(t: TestContext) {
  const probe = await open(import.meta.filename, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  const refuse = async () => {
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
  };
  const mocks = ['write', 'writev'].map((name) => t.mock.method(handles, name, refuse));
  return () => {
    for (const { mock } of mocks) mock.restore();
  };
}

test('refused inbound mail stays with its sender', async (t) => {
  const scene = await mxScene(t);
  await t.test('a full disk answers 452, and mail after it is accepted', (t) => refuseWithoutRoom(t, scene));
  await t.test('while the database is away every sender gets 451', (t) => refuseWithoutDatabase(t, scene));
});

async function refuseWithoutRoom(t: TestContext, { qd, port, endpoint }: MxScene): Promise<void> {
  const makeRoom = await fillDisk(t);
  for (const message of [letterIn(), large])
    assert.match(await deliverTo(t, port, { message }), /^452 4\.3\.1 there is no room for mail here/);
  makeRoom();
  for (const message of [letterIn(), large]) assert.match(await deliverTo(t, port, { message }), /^250 /);
  await endpoint.heard(2);
  assert.equal((await qd.owner.get('/email/messages?direction=receive')).body.messages.length, 2);
}

async function refuseWithoutDatabase(t: TestContext, { qd, port, endpoint }: MxScene): Promise<void> {
  const { say } = await speakSmtp(t, port);
  await say('EHLO far.example');
  await say('MAIL FROM:<a@far.example>');
  await say('RCPT TO:<support@in.example.com>');
  await say('DATA');
  const giveBack = await takeDatabase(qd);
  assert.match(await say(`${letterIn()}.`), /^451 4\.3\.0 we cannot take mail at this moment/);
  await say('MAIL FROM:<a@far.example>');
  assert.match(
    await say('RCPT TO:<x@nobody-asked-for-yet.example>'),
    /^451 4\.3\.0/,
    'no recipient is called unknown while the database is away',
  );
  await giveBack();
  await eventually(async () => (await deliverTo(t, port)).startsWith('250'));
  await endpoint.heard(3);
  assert.equal((await qd.owner.get('/email/messages?direction=receive')).body.messages.length, 3);
}

test('only mail for a full organization gets 452, and its reports still come', async (t) => {
  const { port } = await mxScene(t, { env: { QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: '4000' } });
  const answers = [];
  for (let n = 0; n < 4; n++) answers.push((await deliverTo(t, port)).slice(0, 9));
  assert.deepEqual([answers[0], answers.at(-1)], ['250 2.0.0', '452 4.2.2']);
});

test('of concurrent messages those within the quota are accepted in order of arrival', async (t) => {
  const { qd, port, endpoint } = await mxScene(t, { env: { QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: '8000' } });
  const subjects = Array.from({ length: 10 }, (_, n) => `number ${n}`);
  const speakers = await Promise.all(subjects.map(() => speakSmtp(t, port)));
  for (const { say } of speakers) {
    await say('EHLO far.example');
    await say('MAIL FROM:<bob@far.example>');
    await say('RCPT TO:<support@in.example.com>');
    await say('DATA');
  }
  const answers = await Promise.all(speakers.map(({ say }, n) => say(`${letterIn().replace('Help', subjects[n]!)}.`)));
  const taken = subjects.filter((_, n) => answers[n]!.startsWith('250'));
  assert.ok(taken.length > 0 && taken.length < subjects.length, `${answers}`);
  assert.ok(answers.every((answer) => /^(250|452 4\.2\.2)/.test(answer)));
  const told = await endpoint.heard(taken.length);
  assert.deepEqual(told.map(({ event }) => event.data.subject).sort(), taken);
  const { messages } = (await qd.owner.get('/email/messages?direction=receive')).body;
  assert.equal(messages.length, taken.length);
  for (const { id, subject } of messages) {
    const { body } = await qd.owner.get(`/email/messages/${id}/content`);
    assert.ok(body.endsWith(letterIn().replace('Help', subject)), 'each message has its own bytes');
  }
});
