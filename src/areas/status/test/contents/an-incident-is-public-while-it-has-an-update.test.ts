import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually, house, incident, made, outputs, page, publish, readAll, retract, service } from '../support.ts';

/** In which outputs an incident must be told, by its state. */
const telling = (resolved: boolean) =>
  outputs.filter((o) => !/status\.json|components|maintenances/.test(o) && !(resolved && /unresolved|summary/.test(o)));

test('an incident is public exactly while it has an update, in every output', async (t) => {
  const { owner, url } = await house(t);
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  const id = await incident(owner, web.id, 'Nobody can log in');
  const told = async () => {
    const all = await readAll(url, 'acme');
    return outputs.filter((name) => all.get(name)!.text.includes('Nobody can log in'));
  };
  const becomes = (expected: string[]) =>
    eventually(async () => {
      const now = await told();
      return now.join() === expected.join();
    });
  assert.deepEqual(await told(), [], 'an incident without an update is not public');

  const first = await publish(owner, id, 'We are looking.');
  await becomes(telling(false));
  const second = await publish(owner, id, 'We found it.');
  await retract(owner, id, first);
  await eventually(async () => {
    const all = await readAll(url, 'acme');
    const words = telling(false).map((name) => all.get(name)!.text);
    return words.every((text) => text.includes('We found it.') && !text.includes('We are looking.'));
  });
  await retract(owner, id, second);
  await becomes([]);

  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  assert.deepEqual(await told(), []);
  const after = await publish(owner, id, 'It was a certificate.', { kind: 'postmortem' });
  await becomes(telling(true));
  const all = await readAll(url, 'acme');
  assert.match(all.get('')!.text, /<b>Post-mortem<\/b>/);
  assert.equal(JSON.parse(all.get('/api/v2/incidents.json')!.text).incidents[0].status, 'postmortem');
  await retract(owner, id, after);
  await becomes([]);
});

test('a post-mortem is for what is over', async (t) => {
  const { owner } = await house(t);
  const web = await service(owner, 'Web');
  const id = await incident(owner, web.id, 'down');
  const early = await owner.post(`/oncall/incidents/${id}/updates`, { body: 'why', kind: 'postmortem' });
  assert.equal(early.status, 409);
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  const late = await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'why', kind: 'postmortem' }));
  assert.equal(late.kind, 'postmortem');
  assert.equal((await owner.post(`/oncall/incidents/${id}/updates`, { body: 'why', kind: 'gossip' })).status, 400);
});

test('titles, times, states, services and updates leave, and nothing else', async (t) => {
  const { owner, url, member } = await house(t);
  const alice = await member(owner, 'admin', 'alice.secret@example.com');
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  const source = await made(owner.post('/oncall/alert-sources', { name: 'secret-source', serviceId: web.id }));
  await made(
    caller(url, source.token).post(`/oncall/alert-sources/${source.id}/alerts`, {
      version: '4',
      alerts: [
        {
          status: 'firing',
          labels: { alertname: 'SecretAlert', instance: 'db-7.internal', customer: 'secret-customer' },
          annotations: { description: 'secret description', runbook: 'https://wiki.internal/secret' },
          startsAt: '2026-11-01T10:00:00Z',
          generatorURL: 'http://prometheus.internal/graph',
          fingerprint: 'secretfingerprint',
        },
      ],
    }),
  );
  const found = (await made(owner.get('/oncall/incidents'))).incidents[0];
  const manual = (await made(owner.post('/oncall/incidents', { serviceId: web.id, title: 'By hand', description: 'secret note' }))).id;
  for (const id of [found.id, manual]) {
    await publish(alice, id, 'We are looking.');
    await made(alice.post(`/oncall/incidents/${id}/ack`));
  }
  const hidden = (await incident(owner, web.id, 'secret incident')) as string;

  const all = await eventually(async () => {
    const read = await readAll(url, 'acme');
    return read.get('')!.text.includes('By hand') && read.get('')!.text.includes('Identified') ? read : undefined;
  });
  const secrets = [
    /secret/i,
    /internal/,
    /alice/i,
    /owner/i,
    /default/,
    /\b[a-z]{2,6}_[0-9A-HJKMNP-TV-Z]{26}\b/,
    /qd_/,
    new RegExp(hidden),
  ];
  for (const [name, { text, headers }] of all) {
    // The title of an incident that an alert opened is its own; everything else about the alert stays inside.
    const said = `${text} ${JSON.stringify([...headers])}`.replaceAll(found.title, '').replaceAll("default-src 'none'", '');
    for (const secret of secrets) assert.doesNotMatch(said, secret, `${name || 'the page'} tells ${secret}`);
  }
});
