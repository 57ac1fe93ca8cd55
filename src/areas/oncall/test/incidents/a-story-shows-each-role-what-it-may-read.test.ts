import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinRoles, permissions } from '../../../../../contract/permissions.ts';
import type { Caller } from '../../../../../test/harness/index.ts';
import { readyCluster } from '../../../clusters/test/support.ts';
import { monitor } from '../../../uptime/test/support.ts';
import { eventually, made, ward } from '../support.ts';
import { beforeTheIncident } from './story-scene.ts';

interface Told {
  area: string;
  kind: string;
}

interface Story {
  before: Told[];
  entries: Told[];
  withheld: { area: string; permission: string }[];
}

/** What each permission shows, by the area that tells it and the beginning of the kind. On-call tells its own to every reader. */
const shownBy = {
  'uptime.monitor.read': ['uptime probe', 'uptime monitor'],
  'uptime.service.read': ['uptime maintenance'],
  'registry.image.read': ['registry image'],
  'clusters.cluster.read': ['clusters cluster'],
  'organization.audit.read': ['organization changed'],
  'oncall.page.read': ['status mails'],
} as const;

const lineOf = ({ area, kind }: Told) => `${area} ${kind.split('_')[0]}`;
const linesOf = ({ before, entries }: Story) =>
  [...new Set([...before, ...entries].map(lineOf))].filter((line) => !line.startsWith('oncall '));

test('a story shows each role what it may read, and names the rest by its permission', { timeout: 120_000 }, async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'dev' });
  const scene = await beforeTheIncident(qd);
  const id = await scene.break();
  await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'We are looking into it.' }));
  await scene.mailed(2);
  const storyOf = (by: Caller) => by.get(`/oncall/incidents/${id}/story`);
  const whole: Story = await eventually(async () => {
    const story = await made(storyOf(owner));
    return story.entries.some(({ kind }: Told) => kind === 'mails') ? story : undefined;
  });
  assert.deepEqual(linesOf(whole).sort(), Object.values(shownBy).flat().sort(), 'an owner is told all of it');

  const check = async (name: string, by: Caller, held: ReadonlySet<string>) => {
    const { status, body } = await storyOf(by);
    if (!held.has('oncall.incident.read')) return assert.equal(status, 403, name);
    assert.equal(status, 200, name);
    const rules = Object.entries(shownBy);
    const expected = rules.filter(([permission]) => held.has(permission)).flatMap(([, lines]) => lines);
    assert.deepEqual(linesOf(body).sort(), expected.sort(), name);
    const missing = rules.filter(([permission]) => !held.has(permission)).map(([permission]) => permission);
    assert.deepEqual(body.withheld.map(({ permission }: Story['withheld'][number]) => permission).sort(), missing.sort(), name);
  };

  for (const role of ['owner', 'admin', 'member'] as const)
    await check(
      role,
      role === 'owner' ? owner : await qd.member(owner, role),
      new Set(builtinRoles.find((one) => one.id === role)!.permissions),
    );
  for (const { id: role, service, permissions: held } of builtinRoles)
    if (service) {
      await check(role, await qd.narrowed(owner, [{ role }]), new Set(held));
      const both = await qd.narrowed(owner, [{ role }, { role: 'oncall.viewer' }]);
      await check(
        `${role} beside oncall.viewer`,
        both,
        new Set([...held, ...builtinRoles.find((one) => one.id === 'oncall.viewer')!.permissions]),
      );
    }
  // A custom role of the incident and one permission more, for each that a story asks for.
  for (const permission of Object.keys(shownBy)) {
    const held = ['oncall.incident.read', permission];
    const role = await made(owner.post('/iam/roles', { name: `story and ${permission}`, permissions: held }));
    await check(`custom: ${permission}`, await qd.narrowed(owner, [{ role: role.id }]), new Set(held));
  }
  assert.ok(Object.keys(shownBy).every((permission) => (permissions as string[]).includes(permission)));

  // Narrowed to things of which the incident knows nothing: their kinds are named, their contents are not told.
  const other = await made(owner.post('/registry/registries', { slug: 'other', displayName: 'Other' }));
  const elsewhere = await monitor(owner, ['berlin'], { name: 'elsewhere' });
  await readyCluster(owner, { name: 'quiet' });
  const resources = (await made(owner.get('/iam/catalog'))).resources as { service: string; id: string; name: string }[];
  const idOf = (name: string) => resources.find((one) => one.name === name)?.id ?? assert.fail(`no resource ${name}`);
  const narrow = await made(
    storyOf(
      await qd.narrowed(owner, [
        { role: 'oncall.viewer', resourceIds: [scene.service.id] },
        { role: 'registry.viewer', resourceIds: [idOf(other.slug)] },
        { role: 'uptime.viewer', resourceIds: [elsewhere.id] },
        { role: 'clusters.viewer', resourceIds: [idOf('quiet')] },
      ]),
    ),
  );
  const told = JSON.stringify([narrow.before, narrow.entries.filter(({ area }: Told) => area !== 'oncall')]);
  for (const secret of ['shop/', 'checkout', 'cluster dev', 'new cables', 'berlin'])
    assert.ok(!told.includes(secret), `${secret} in ${told}`);
  assert.deepEqual(
    [...new Set(narrow.withheld.map(({ permission }: Story['withheld'][number]) => permission))].sort(),
    Object.keys(shownBy).sort(),
  );

  // Another organization: its owner, and a person of both in the other one, find no such incident.
  const neighbour = await qd.organization('neighbour');
  assert.equal((await storyOf(neighbour)).status, 404);
  const theirs = await made(neighbour.post('/oncall/services', { name: 'theirs' }));
  const own = await made(neighbour.post('/oncall/incidents', { serviceId: theirs.id, title: 'theirs' }));
  const story = await made(neighbour.get(`/oncall/incidents/${own.id}/story`));
  assert.ok(!JSON.stringify(story).includes('checkout') && !linesOf(story).some((line) => /^(uptime|registry|clusters|status)/.test(line)));
  assert.equal((await owner.get(`/oncall/incidents/${own.id}/story`)).status, 404);
});
