import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { eventually, made, ward } from '../support.ts';
import { beforeTheIncident } from './story-scene.ts';

interface Entry {
  at: string;
  area: string;
  kind: string;
  title: string;
  detail?: string;
}

const storyOf = (by: Caller, id: string) => made(by.get(`/oncall/incidents/${id}/story`));
const told = (entries: Entry[]) => entries.map(({ area, kind }) => `${area} ${kind}`);
const entry = (entries: Entry[], kind: string) => entries.find((e) => e.kind === kind)!;
const withheld = (story: { withheld: { area: string; permission: string }[] }) =>
  story.withheld.map(({ area, permission }) => `${area} ${permission}`).sort();

test('a story is told from the first failing probe to the last mail, and to each reader what they may read', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const scene = await beforeTheIncident(qd);
  const { ada, service, watched, pushed } = scene;
  const id = await scene.break();
  await made(owner.post(`/oncall/incidents/${id}/ack`));
  await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'We are looking into it.' }));
  await scene.mailed(2);
  const mended = await scene.push();
  await made(owner.post('/registry/registries', { slug: 'spare', displayName: 'Spare' }));
  await scene.mend(id);
  const story = await eventually(async () => {
    const now = await storyOf(owner, id);
    return now.entries.filter((e: Entry) => e.kind === 'mails' && e.title.startsWith('1 mail ')).length === 2 ? now : undefined;
  });

  assert.deepEqual(
    { withheld: story.withheld, unavailable: story.unavailable, truncated: story.truncated },
    { withheld: [], unavailable: [], truncated: false },
  );
  assert.equal(story.incident.id, id);
  assert.deepEqual(
    story.entries.map(({ at }: Entry) => at),
    story.entries.map(({ at }: Entry) => at).toSorted(),
    'one axis, oldest first',
  );
  const kinds = told(story.entries);
  const order = [
    'uptime probe_failed',
    'uptime monitor_down',
    'oncall opened',
    'oncall step_fired',
    'oncall page_failed',
    'oncall page_sent',
    'oncall acknowledged',
    'oncall update_published',
    'registry image_pushed',
    'organization changed',
    'oncall resolved',
  ];
  const positions = order.map((kind) => kinds.indexOf(kind));
  assert.ok(!positions.includes(-1), `${order.filter((kind) => !kinds.includes(kind))} not among ${kinds}`);
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
    kinds.join('\n'),
  );
  assert.deepEqual(
    story.entries
      .filter((e: Entry) => e.kind === 'probe_failed')
      .map((e: Entry) => `${e.title}: ${e.detail}`)
      .sort(),
    ['berlin sees checkout fail: the connection was refused', 'oslo sees checkout fail: the connection was refused'],
    'the first failure of each vantage, once',
  );
  assert.equal(kinds.filter((kind) => kind === 'uptime probe_passed').length, 2);
  assert.equal(entry(story.entries, 'image_pushed').title, `shop/${mended.repo}:${mended.tag} was pushed`);
  assert.deepEqual(
    [entry(story.entries, 'changed').title, entry(story.entries, 'changed').detail],
    [`${owner.email}: registry.registry.create`, 'slug spare'],
  );
  assert.match(entry(story.entries, 'page_failed').title, /^An SMS to Ada failed: no-credential/);
  assert.match(entry(story.entries, 'page_sent').title, /to Bo went out$/);
  assert.equal(entry(story.entries, 'update_published').detail, 'We are looking into it.');
  assert.deepEqual(
    story.entries.filter((e: Entry) => e.area === 'status').map((e: Entry) => e.title),
    ['1 mail to subscribers left about the update', '1 mail to subscribers left about the end'],
  );

  // Above it, the hour before.
  const before = story.before.map(({ area, title }: Entry) => `${area}: ${title}`);
  for (const expected of [
    'uptime: maintenance: new cables',
    `registry: shop/${pushed.repo}:${pushed.tag} was pushed`,
    `organization: ${owner.email}: uptime.monitor.update`,
    `organization: ${owner.email}: oncall.service.attach`,
  ])
    assert.ok(before.includes(expected), `${expected} not among\n${before.join('\n')}`);
  assert.ok(
    !before.some((line: string) => /tokens\.|incident|status\.page|registry\.key/.test(line)),
    'only what may have broken something',
  );

  // Roles.
  const viewer = await storyOf(await qd.narrowed(owner, [{ role: 'oncall.viewer' }]), id);
  assert.deepEqual([...new Set(told(viewer.entries).map((kind) => kind.split(' ')[0]))].sort(), ['oncall', 'status']);
  assert.deepEqual(viewer.before, []);
  assert.deepEqual(withheld(viewer), [
    'clusters clusters.cluster.read',
    'organization organization.audit.read',
    'registry registry.image.read',
    'uptime uptime.monitor.read',
    'uptime uptime.service.read',
  ]);
  const narrowed = await qd.narrowed(owner, [
    { role: 'oncall.viewer', resourceIds: [service.id] },
    { role: 'uptime.viewer', resourceIds: [watched.id] },
  ]);
  const narrow = await storyOf(narrowed, id);
  assert.deepEqual([...new Set(told(narrow.entries).map((kind) => kind.split(' ')[0]))].sort(), ['oncall', 'uptime']);
  assert.ok(withheld(narrow).includes('status oncall.page.read') && withheld(narrow).includes('uptime uptime.service.read'));
  assert.ok(!withheld(narrow).includes('uptime uptime.monitor.read'));
  assert.equal((await ada.get(`/oncall/incidents/${id}/story`)).status, 403);
  const other = await qd.organization('neighbour');
  assert.equal((await other.get(`/oncall/incidents/${id}/story`)).status, 404);

  // A page that is gone is none that failed: its part is named.
  await qd.app.db.write((tx) => run(tx)`alter table status.mailing rename to mailing_gone`);
  const lesser = await storyOf(owner, id);
  assert.deepEqual(lesser.unavailable, [{ area: 'status', reason: 'it failed; the log of the server says why' }]);
  assert.ok(lesser.entries.length > 5);
});
