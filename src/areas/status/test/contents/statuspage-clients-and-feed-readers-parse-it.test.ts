import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HtmlValidate } from 'html-validate';
import Parser from 'rss-parser';
import { Statuspage } from 'statuspage.js';
import { demo } from '../demo.ts';
import { form, house, incident, page, publish, read, service, shows } from '../support.ts';

/** Its types are older than the answers it gives. */
interface Client {
  axios: { defaults: { baseURL: string } };
  // biome-ignore lint/suspicious/noExplicitAny: see above
  [method: string]: any;
}

test('a Statuspage client reads every part of it', async (t) => {
  const qd = await house(t);
  await demo(qd);
  await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  const client = new Statuspage('acme') as unknown as Client;
  client.axios.defaults.baseURL = `${qd.url}/status/acme/api/v2`;
  const summary = await client.summary!();
  assert.equal(summary.page.name, 'Acme Cloud');
  assert.ok(summary.page.updated_at instanceof Date);
  assert.deepEqual(summary.status, { indicator: 'major', description: 'Partial outage' });
  assert.deepEqual((await client.status!()).status, summary.status);

  const { components } = await client.components!();
  const groups = components.filter((c: { group: boolean }) => c.group);
  assert.deepEqual(
    groups.map((g: { name: string; components: string[] }) => [g.name, g.components.length]),
    [
      ['Customer-facing', 4],
      ['Behind the scenes', 5],
    ],
  );
  const checkout = components.find((c: { name: string }) => c.name === 'Checkout');
  assert.equal(checkout.status, 'major_outage');
  assert.equal(checkout.group_id, groups[0].id);

  const { incidents } = await client.allIncidents!();
  assert.deepEqual(
    incidents.map((i: { status: string }) => i.status),
    ['identified', 'postmortem'],
  );
  assert.deepEqual(
    incidents[1].incident_updates.map((u: { status: string }) => u.status),
    ['postmortem', 'resolved', 'identified', 'investigating'],
  );
  assert.ok(incidents[1].resolved_at instanceof Date && incidents[1].incident_updates[0].created_at instanceof Date);
  assert.deepEqual((await client.unresolvedIncidents!()).incidents, [incidents[0]]);
  assert.deepEqual(summary.incidents, [incidents[0]]);
  const [planned] = (await client.allScheduledMaintenances!()).scheduled_maintenances;
  assert.equal(planned.status, 'scheduled');
  assert.ok(planned.scheduled_until > planned.scheduled_for);
  assert.deepEqual((await client.upcomingScheduledMaintenances!()).scheduled_maintenances, [planned]);
  assert.deepEqual((await client.activeScheduledMaintenances!()).scheduled_maintenances, []);
});

test('a feed reader reads both feeds, hostile words included', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web & more');
  await page(qd.owner, 'acme', [web.id], { title: 'Acme <&> "Co"', description: ']]> <b>' });
  const words = 'It is <b>down</b> & out ]]> \u0007\u000b "quoted" 😀';
  const first = await incident(qd.owner, web.id, words);
  await publish(qd.owner, first, words);
  await publish(qd.owner, first, 'Second\nline');
  await shows(qd.url, 'acme', (text) => text.includes('Second'));
  const clean = words.replace('\u0007\u000b', ''); // what XML cannot hold
  for (const kind of ['atom', 'rss']) {
    const feed = await new Parser().parseURL(`${qd.url}/status/acme/feed.${kind}`);
    assert.equal(feed.title, 'Acme <&> "Co"');
    assert.equal(feed.items.length, 1);
    const [item] = feed.items;
    assert.equal(item!.title, `Investigating: ${clean}`);
    assert.match(item!.link!, /\/status\/acme\/history#[a-z0-9]{12}$/);
    assert.ok(!Number.isNaN(Date.parse(item!.isoDate!)));
    assert.match(item!.contentSnippet!, /It is <b>down<\/b> & out/);
    assert.ok(item!.content!.indexOf('Second<br>line') < item!.content!.indexOf('&#60;b&#62;down'), 'newest first, as text');
    assert.match(String(item!.id ?? item!.guid), /^tag:/);
  }
});

test('every page is valid HTML', async (t) => {
  const qd = await house(t);
  await demo(qd, 'acme', { accentColour: '#7a3cff', logo: `data:image/gif;base64,${'R0lGODlhAQABAAAAACwAAAAAAQABAAA='}` });
  await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  const validator = new HtmlValidate({
    extends: ['html-validate:standard', 'html-validate:a11y'],
    // Of taste, not of validity; the doctype may be in small letters (HTML 13.1.1).
    rules: { 'long-title': 'off', 'doctype-style': 'off', 'no-inline-style': 'error' },
  });
  const pages = ['acme', 'acme/history', 'never-was', 'acme/confirm/xxxxxxxxxxxxxxxxxxxxxxxx', 'acme/unsubscribe/xxxxxxxxxxxxxxxxxxxxxxxx'];
  const texts = [
    ...(await Promise.all(pages.map(async (path) => (await read(`${qd.url}/status/${path}`)).text))),
    await (await form(`${qd.url}/status/acme/subscribe`, { address: 'reader@example.com' })).text(),
  ];
  for (const [n, text] of texts.entries()) {
    const report = await validator.validateString(text);
    const found = report.results.flatMap((r) =>
      r.messages.map((m) => `${pages[n] ?? 'subscribe'} ${m.ruleId} ${m.line}:${m.column} ${m.message}`),
    );
    assert.deepEqual(found, []);
  }
  assert.ok((await validator.validateString('<p><div></p>')).errorCount > 0, 'the judge judges');
});
