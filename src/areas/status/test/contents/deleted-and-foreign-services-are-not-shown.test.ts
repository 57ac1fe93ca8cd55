import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, house, incident, made, page, publish, read, readAll, service, shows } from '../support.ts';

test('a page forgets services that are deleted but not what it told of them, and follows those that are renamed', async (t) => {
  const { owner, url } = await house(t);
  const [web, api] = [await service(owner, 'Web'), await service(owner, 'API')];
  await page(owner, 'acme', [web.id, api.id], { groups: [{ name: 'Inside', serviceIds: [api.id] }] });
  const id = await incident(owner, api.id, 'API was slow');
  await publish(owner, id, 'It was slow.');
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  await shows(url, 'acme', (text) => text.includes('API was slow'));

  await made(owner.patch(`/uptime/services/${web.id}`, { name: 'Website' }));
  await shows(url, 'acme', (text) => text.includes('Website'));
  await made(owner.patch(`/uptime/services/${api.id}`, { name: 'Public API' }));

  assert.equal((await owner.delete(`/uptime/services/${api.id}`)).status, 204);
  await eventually(async () => [...(await readAll(url, 'acme')).values()].every(({ text }) => !/Inside/.test(text)));
  const { services, incidents } = JSON.parse((await read(`${url}/status/acme.json`)).text);
  assert.deepEqual(
    services.map((s: { name: string }) => s.name),
    ['Website'],
  );
  assert.deepEqual(
    incidents.map((i: { title: string; service: string }) => [i.title, i.service]),
    [['API was slow', 'Public API']],
    'under its last name',
  );
  assert.match((await read(`${url}/status/acme`)).text, /API was slow/);
  // Sending the list back unchanged keeps the history; a deleted service that never was on the page is unknown.
  await made(owner.patch('/status-pages/acme', { serviceIds: [web.id, api.id], title: 'Acme' }));
  await shows(url, 'acme', (text) => text.includes('API was slow'));
  await page(owner, 'later', [web.id]);
  assert.equal((await owner.patch('/status-pages/later', { serviceIds: [web.id, api.id] })).status, 404);
  assert.deepEqual((await owner.get('/status-pages/acme')).body.serviceIds, [web.id, api.id], 'a list is never shortened by a delete');

  assert.equal((await owner.delete(`/uptime/services/${web.id}`)).status, 204);
  const empty = await shows(url, 'acme', (text) => text.includes('No services are shown here'));
  assert.equal(empty.status, 200);
  assert.deepEqual(JSON.parse((await read(`${url}/status/acme.json`)).text).services, []);
});

test('a page shows nothing of services that are not on it, nor of other organizations', async (t) => {
  const { owner, url, organization } = await house(t);
  const other = await organization('other');
  const [mine, unlisted, theirs] = [await service(owner, 'Web'), await service(owner, 'Hidden'), await service(other, 'Theirs')];
  await page(owner, 'acme', [mine.id]);
  await page(other, 'others', [theirs.id]);
  for (const [by, of, title] of [
    [owner, mine, 'mine is down'],
    [owner, unlisted, 'hidden is down'],
    [other, theirs, 'theirs is down'],
  ] as const)
    await publish(by, await incident(by, of.id, title), 'We are looking.');
  await shows(url, 'acme', (text) => text.includes('mine is down'));
  await shows(url, 'others', (text) => text.includes('theirs is down'));
  for (const { text } of (await readAll(url, 'acme')).values()) assert.doesNotMatch(text, /hidden is down|Hidden|theirs is down|Theirs/);
  for (const { text } of (await readAll(url, 'others')).values()) assert.doesNotMatch(text, /mine is down|hidden is down/);
});

test('unknown addresses all get the same answer', async (t) => {
  const { url } = await house(t);
  const odd = [
    'never-was',
    'never-was.json',
    'never-was/feed.atom',
    'never-was/api/v2/summary.json',
    'never-was/logo',
    'never-was/confirm/xxxxxxxxxxxxxxxxxxxxxxxx',
    'UPPER',
    'a',
    '..%2f',
    'x/y/z',
    '%00',
    'never-was/constructor',
    '__proto__',
    '',
  ];
  const answers = await Promise.all(odd.map((rest) => read(`${url}/status/${rest}`)));
  for (const [n, { status, text, headers }] of answers.entries()) {
    assert.equal(status, 404, odd[n]!);
    assert.equal(text, answers[0]!.text, odd[n]!);
    assert.match(headers.get('content-security-policy')!, /default-src 'none'/);
  }
});
