import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { testOf } from '../../store/test-pages.ts';
import { phoneWard } from '../phone-support.ts';
import { eventually, made, ward } from '../support.ts';

interface TestedPage {
  id: string;
  channel: string;
  address?: string;
  state: string;
  attempts: number;
  error?: string;
  warning?: string;
}

const start = async (by: Caller, body: object = {}): Promise<TestedPage[]> => (await made(by.post('/oncall/me/test', body))).pages;
const fates = async (by: Caller): Promise<TestedPage[]> => (await made(by.get('/oncall/me/test'))).pages;
const fate = async (by: Caller, channel: string) => (await fates(by)).find((page) => page.channel === channel)!;
/** Waits for a state, after so many attempts. */
const reached = (by: Caller, channel: string, state: string, attempts = 1) =>
  eventually(async () => {
    const page = await fate(by, channel);
    return page.state === state && page.attempts >= attempts && page;
  });

const everyWay = [
  { channel: 'email', delaySeconds: 0 },
  { channel: 'sms', delaySeconds: 60 },
  { channel: 'voice', delaySeconds: 300 },
  { channel: 'sms', delaySeconds: 600 },
];

test('a test goes out by each channel at once, and tells what became of each page', async (t) => {
  const qd = await phoneWard(t, everyWay);
  const { alice, twilio, smtp, url, owner } = qd;
  assert.deepEqual(await made(alice.get('/oncall/me/test')), { pages: [] });

  const pages = await start(alice);
  assert.deepEqual(
    pages.map(({ channel, address, state, attempts, warning }) => [channel, address, state, attempts, warning]),
    [
      ['email', 'alice@example.com', 'queued', 0, undefined],
      ['sms', alice.phone, 'queued', 0, undefined],
      ['voice', alice.phone, 'queued', 0, undefined],
    ],
  );

  // By mail: the link shows what it is, and a press confirms it.
  await reached(alice, 'email', 'sent');
  const [mail] = smtp.received;
  assert.match(mail!.data, /^Subject: \[Test page\] you asked for this page/m);
  assert.match(mail!.data, /Open this page to confirm that it reached you:/);
  assert.doesNotMatch(mail!.data, /X-Quarterdeck-Incident|Incident /);
  const link = new URL(/https?:\S+\/oncall\/ack\/\S+/.exec(mail!.data.replaceAll('=\r\n', ''))![0]);
  const shown = await fetch(`${url}${link.pathname}`);
  assert.match(await shown.text(), /a test that you asked for\. Nothing is wrong/);
  assert.equal((await fate(alice, 'email')).state, 'sent', 'a scanner that follows the link confirms nothing');
  assert.match(await (await fetch(`${url}${link.pathname}`, { method: 'POST' })).text(), /Your answer has arrived/);
  assert.equal((await fate(alice, 'email')).state, 'confirmed');

  // By SMS: the provider's report, then a reply with the code.
  const message = await twilio.received({ to: alice.phone, kind: 'message', text: /Test page/ });
  const code = /Reply (\d{4})a to confirm that it arrived\./.exec(message.text)![1]!;
  await reached(alice, 'sms', 'sent');
  await twilio.report(message.sid, 'delivered');
  assert.equal((await fate(alice, 'sms')).state, 'delivered');
  const inbox = `${url}/api/v1/oncall/twilio/${owner.orgId}/sms`;
  assert.match((await twilio.text(inbox, alice.phone, `${code}a`)).reply, /^Your answer has arrived/);
  assert.equal((await fate(alice, 'sms')).state, 'confirmed');
  await twilio.report(message.sid, 'undelivered', 30003);
  assert.equal((await fate(alice, 'sms')).state, 'confirmed', 'a late report takes nothing back');

  // By voice: a call without a key is a call that did not reach her.
  const call = await twilio.received({ to: alice.phone, kind: 'call' });
  await reached(alice, 'voice', 'sent');
  assert.match(await twilio.pickUp(call.sid, '1'), /Your answer has arrived/);
  assert.equal((await fate(alice, 'voice')).state, 'confirmed');
  assert.equal(twilio.sent.length, 2, 'one page a channel, however many rules name it');

  assert.deepEqual((await made(owner.get('/oncall/incidents'))).incidents, [], 'there is no incident');
  const { entries } = await made(owner.get('/organization/audit'));
  assert.deepEqual(
    entries.filter((e: { action: string }) => e.action === 'oncall.settings.test').map((e: { detail: object }) => e.detail),
    [{ channels: ['email', 'sms', 'voice'] }],
  );
});

test('a second test within a minute is refused, in every organization of the person', async (t) => {
  const qd = await ward(t);
  const { owner, clock, organization } = qd;
  const ann = await qd.member(owner, 'member', 'ann@example.com');
  const first = await start(ann);
  const soon = await ann.post('/oncall/me/test', {});
  assert.equal(soon.status, 429);
  assert.match(soon.body.error, /less than a minute ago/);
  assert.ok(Number(soon.headers.get('retry-after')) > 50 && Number(soon.headers.get('retry-after')) <= 60);
  assert.equal((await owner.post('/oncall/me/test', {})).status, 202, 'it is about the person');
  const both = await Promise.all(
    [1, 2].map(() =>
      start(ann).then(
        () => 'made',
        () => 'refused',
      ),
    ),
  );
  assert.deepEqual(both, ['refused', 'refused']);

  await reached(ann, 'email', 'sent');
  await clock.advance('61s');
  const second = await start(ann);
  assert.notEqual(second[0]!.id, first[0]!.id);
  assert.equal((await fates(ann)).length, 1, 'the newest test alone is kept');
  const neighbour = await organization('neighbour');
  assert.deepEqual(await fates(neighbour), []);

  const narrowed = await qd.narrowed(ann, [{ role: 'oncall.viewer' }]);
  for (const answer of [await narrowed.post('/oncall/me/test', {}), await narrowed.get('/oncall/me/test')])
    assert.deepEqual([answer.status, answer.headers.get('x-error-code')], [403, 'narrowed_token']);
  for (const channels of [[], ['fax']]) assert.equal((await owner.post('/oncall/me/test', { channels })).status, 400);

  // A restart in between loses nothing: what is stored is read by the next server.
  const again = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir, env: { QUARTERDECK_ROLES: 'api' } });
  const seen = await fetch(`${again.url}/api/v1/oncall/me/test`, { headers: { authorization: `Bearer ${ann.key}` } });
  assert.equal(((await seen.json()) as { pages: TestedPage[] }).pages[0]!.id, second[0]!.id);
  await again.stop();
});

test('what keeps a page away is said by channel: before it is tried, and after', async (t) => {
  const qd = await quarterdeck(t); // no relay, no provider
  const pages = await start(qd.owner, { channels: ['voice', 'sms', 'email'] });
  assert.deepEqual(
    pages.map(({ channel, address }) => [channel, address]),
    [
      ['voice', undefined],
      ['sms', undefined],
      ['email', qd.owner.email],
    ],
  );
  assert.match(pages[2]!.warning!, /no mail leaves this server/);
  assert.match(pages[1]!.warning!, /^no-credential/);
  const [voice, sms, email] = await eventually(async () => {
    const seen = await fates(qd.owner);
    return seen.every((page) => page.state === 'failed') && seen;
  });
  assert.match(email!.error!, /no mail leaves this server: the operator must set QUARTERDECK_SMTP_RELAY/);
  for (const page of [sms!, voice!]) assert.match(page.error!, /^no-credential: the organization has no SMS and voice provider/);
});

test('a provider or relay that refuses for now is asked four times, and then the page has failed', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'email', delaySeconds: 0 }]);
  const { alice, smtp, twilio, clock } = qd;
  smtp.behave({ RCPT: '451 4.3.0 come again' });
  await start(alice);
  for (const [attempt, pause] of [
    [1, '6s'],
    [2, '16s'],
    [3, '31s'],
  ] as const) {
    const waiting = await reached(alice, 'email', 'queued', attempt);
    assert.match(waiting.error!, /451/);
    await clock.advance(pause);
  }
  assert.equal((await reached(alice, 'email', 'failed')).attempts, 4);

  // An answer that was lost is looked up: the person gets one SMS.
  await clock.advance('61s');
  twilio.fail(/Messages\.json/, 'cut-after-taking');
  await start(alice, { channels: ['sms'] });
  await eventually(async () => (await fate(alice, 'sms')).error);
  await clock.advance('6s');
  const found = await reached(alice, 'sms', 'sent');
  assert.deepEqual([found.attempts, twilio.sent.length], [2, 1]);
});

test('a test page to a person who was removed is not sent', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'email', delaySeconds: 0 }]);
  const { alice, owner, smtp, clock } = qd;
  smtp.behave({ RCPT: '451 4.3.0 come again' });
  await start(alice);
  await reached(alice, 'email', 'queued');
  smtp.behave('accept');
  assert.equal((await owner.delete(`/organization/members/${alice.userId}`)).status, 204);
  await clock.advance('6s');
  await eventually(async () => (await qd.app.db.read((tx) => testOf(tx, owner.orgId, alice.userId)))[0]!.state === 'canceled');
  assert.deepEqual(smtp.received, []);
});
