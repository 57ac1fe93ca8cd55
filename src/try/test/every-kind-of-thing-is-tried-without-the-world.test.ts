import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runHere } from '../../../cli/test/cli-context.ts';
import { run } from '../../../cli/test/support.ts';
import { type Quarterdeck, quarterdeck } from '../../../test/harness/index.ts';
import { eventually } from '../../../test/harness/process.ts';

interface Listed<T> {
  [list: string]: T[];
}

const readJson = async <T>(url: string, path: string): Promise<T[]> =>
  Object.values((await (await fetch(`${url}/try/${path}`)).json()) as Listed<T>)[0]!;
const readPage = async (url: string, path: string) => {
  const answer = await fetch(`${url}${path}`);
  return { answer, html: await answer.text() };
};

test('every kind of thing is tried without the world', { timeout: 180_000 }, async (t) => {
  const qd = await quarterdeck(t, { isTry: true });
  const { url, owner } = qd;
  const env = { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: owner.key };
  const tried = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere(['try', ...args], { env });
    assert.equal(code, 0, `try ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  // The first check takes longest; it goes on beside the others.
  const monitored = run(['try', 'monitor'], { env });

  await t.test('an image is pushed, and the second push finds it there', async () => {
    assert.match(await tried('push'), /try\/hello:v1 pushed[\s\S]*v1 {2}sha256:[0-9a-f]{64}[\s\S]*skopeo copy/);
    assert.match(await tried('push'), /registry try is there already[\s\S]*was there already/);
  });

  await t.test('mail is delivered to the inbox', async () => {
    const other = await owner.post('/email/keys', { name: 'try' });
    assert.match(await tried('mail'), /try\.example is verified[\s\S]*✓ (sent|delivered)[\s\S]*\/try\/inbox\/\d+/);
    assert.match(await tried('mail'), /the domain try\.example is there already/);
    const keys = (await owner.get('/email/keys')).body.sendKeys as { id: string; name: string }[];
    const kept = keys.filter(({ name }) => name === 'try').map(({ id }) => id);
    assert.equal(kept.length, 2, 'a second run leaves no second key');
    assert.ok(kept.includes(other.body.sendKey.id), 'a key of that name for other domains stays');
    const { html } = await readPage(url, '/try/inbox/1');
    assert.match(html, /It works\./);
    assert.match(html, /<iframe sandbox /);
  });

  await t.test('a page reaches the phone, and its button acknowledges', () => answerOnThePhone(qd, tried));
  await t.test('a webhook is echoed with its signer', () => echoWebhook(qd, tried));
  await t.test('a cluster answers', async () => {
    assert.match(await tried('cluster'), /its API answers: the namespaces are .*default[\s\S]*kubectl --kubeconfig/);
  });
  await t.test('pages escape what senders wrote, and run no script', () => showHostileMail(qd));
  await t.test('every page has the banner', () => showBanner(qd));
  await t.test('nothing outside is reached', () => refuseTheOutside(qd));
  await t.test('pages are for this machine and its own forms', () => refuseStrangers(qd));

  await t.test('a monitor comes up', async () => {
    const { code, stdout, stderr } = await monitored;
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /healthz is up/);
  });
});

type Tried = (...args: string[]) => Promise<string>;

async function answerOnThePhone({ url, owner }: Quarterdeck, tried: Tried) {
  const said = await tried('page');
  const incident = /incident (inc_\w+)/.exec(said)![1]!;
  assert.match(said, /was paged by/);
  const sms = await eventually(async () =>
    (await readJson<{ id: number; kind: string; text: string }>(url, 'phone.json')).find(({ kind }) => kind === 'message'),
  );
  assert.match(sms.text, /only a test/);
  const press = (origin: string, from: string) => {
    const headers = { origin, 'sec-fetch-site': from };
    return fetch(`${url}/try/phone/${sms.id}/acknowledge`, { method: 'POST', headers, redirect: 'manual' });
  };
  assert.equal((await press('http://evil.example', 'cross-site')).status, 403);
  assert.equal((await press('null', 'cross-site')).status, 403);
  // A page without a referrer has forms without an origin.
  assert.equal((await readPage(url, '/try/phone')).answer.headers.get('referrer-policy'), 'same-origin');
  assert.equal((await owner.get(`/oncall/incidents/${incident}`)).body.status, 'open');
  assert.equal((await press('null', 'same-origin')).status, 303);
  assert.equal((await owner.get(`/oncall/incidents/${incident}`)).body.status, 'acknowledged');
  assert.match((await readPage(url, '/try/phone')).html, /acknowledge: Acknowledged\./);
  assert.match(await tried('page', '--ack'), /of the last run is resolved[\s\S]*is acknowledged/);

  // A call is answered by a key.
  const voice = { phone: '+15005550100', rules: [{ channel: 'voice', delaySeconds: 0 }] };
  assert.equal((await owner.put('/oncall/me/settings', voice)).status, 200);
  const called = /incident (inc_\w+)/.exec(await tried('page'))![1]!;
  const [call] = await readJson<{ id: number; kind: string; text: string }>(url, 'phone.json');
  assert.equal(call!.kind, 'call');
  assert.match(call!.text, /Press 1 to acknowledge/);
  assert.equal((await fetch(`${url}/try/phone/${call!.id}/resolve`, { method: 'POST', redirect: 'manual' })).status, 303);
  assert.equal((await owner.get(`/oncall/incidents/${called}`)).body.status, 'resolved');
}

async function echoWebhook({ url, owner }: Quarterdeck, tried: Tried) {
  const made = await owner.post('/email/webhooks', { url: `${url}/try/echo`, eventTypes: ['email.delivered'] });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await tried('mail');
  type Echoed = { body: string; signedBy?: string };
  const [delivery] = await eventually(async () => {
    const deliveries = await readJson<Echoed>(url, 'echo.json');
    return deliveries.length > 0 && deliveries;
  });
  assert.match(delivery!.signedBy ?? '', /^whk_/);
  const forged = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' };
  assert.equal((await fetch(`${url}/try/echo`, { method: 'POST', headers: forged, body: '{"a":"<script>"}' })).status, 200);
  const [newest] = await readJson<Echoed>(url, 'echo.json');
  assert.equal(newest!.signedBy, undefined);
  const { html } = await readPage(url, '/try/echo');
  assert.match(html, /✓ signed by whk_/);
  assert.match(html, /✗ not signed/);
  assert.doesNotMatch(html, /<script/);
}

async function showHostileMail({ app, url, owner }: Quarterdeck) {
  const hostile = '<script>alert(1)</script> \u202egnirts\u0007';
  const html = '<body><script>alert(2)</script><img src="http://evil.example/x.png"><form action="http://evil.example/">';
  await app.mail.deliver({ org: owner.orgId, to: 'x@far.example', subject: hostile, text: `${hostile}\n`, html, id: 'hostile' });
  const [{ id } = { id: 0 }] = await readJson<{ id: number }>(url, 'inbox.json');
  for (const path of ['/try/inbox', `/try/inbox/${id}`]) {
    const { answer, html: shown } = await readPage(url, path);
    assert.equal(answer.status, 200);
    assert.doesNotMatch(shown, /<script|\u202e/, path);
    assert.match(shown, /&#60;script&#62;alert\(1\)/, path);
    assert.match(shown, /nothing leaves this machine/, `${path} has the banner`);
    assert.doesNotMatch(answer.headers.get('content-security-policy')!, /script-src|unsafe/);
  }
  const framed = await readPage(url, `/try/inbox/${id}/html`);
  assert.match(framed.answer.headers.get('content-security-policy')!, /^sandbox; default-src 'none'; .*img-src data:/);
  assert.match((await readPage(url, `/try/inbox/${id}/raw`)).answer.headers.get('content-type')!, /^text\/plain/);
}

/** Pages of Fastify, of the reference behind it, and of a plane that sends what it has compressed in memory. */
async function showBanner({ url, owner }: Quarterdeck) {
  const [service] = (await owner.get('/oncall/services')).body.services as { id: string }[];
  const made = await owner.post('/status-pages', { slug: 'tried', title: 'Grüße', serviceIds: [service!.id] });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  for (const path of ['/docs/', '/status/tried', '/status/tried', '/oncall/ack/unknown', '/try/']) {
    const { html } = await readPage(url, path);
    assert.equal(html.split('nothing leaves this machine').length, 2, path);
    assert.match(html, /<body[^>]*><p role="note">/);
  }
  assert.match((await readPage(url, '/status/tried')).html, /Grüße/);
}

/** Refusals come before any connection: these addresses are public. */
async function refuseTheOutside({ app, owner }: Quarterdeck) {
  for (const use of ['uptime', 'webhook', 'oidc', 'upstream', 'mx', 'smarthost', 'dns', 'node'])
    for (const target of ['http://1.1.1.1/', 'http://[2606:4700::1111]/', 'http://10.0.0.1/', 'http://169.254.169.254/'])
      assert.throws(() => app.guard.checkUrl(use, target), { name: 'GuardRefusal' }, `${use} ${target}`);
  app.guard.checkUrl('webhook', 'http://127.0.0.1:9/');
  await assert.rejects(app.guard.fetch('webhook', 'http://www.example.org/'), { kind: 'dns_not_found' });
  const monitor = { name: 'out', kind: 'http', intervalSeconds: 30, vantages: ['local'], http: { url: 'http://1.1.1.1/' } };
  const refused = await owner.post('/uptime/monitors', monitor);
  assert.equal(refused.status, 400);
  assert.match(refused.body.error, /outside the networks/);
  const { email_smarthost, payment_url, heartbeat_url, registry_upstreams, public_url } = app.config;
  assert.deepEqual([email_smarthost, payment_url, heartbeat_url, registry_upstreams, public_url], ['', '', '', [], '']);
}

async function refuseStrangers({ url, anonymous }: Quarterdeck) {
  const { request } = await import('node:http');
  const status = await new Promise<number>((resolve, reject) => {
    const asking = request(`${url}/try/inbox`, { headers: { host: 'rebound.example' } }, (answer) => resolve(answer.resume().statusCode!));
    asking.on('error', reject).end();
  });
  assert.equal(status, 403);
  assert.equal((await anonymous.get('/email/messages')).status, 401, 'the API still asks for a token');
}
