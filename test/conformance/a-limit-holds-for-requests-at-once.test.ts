import assert from 'node:assert/strict';
import { test } from 'node:test';
import { made } from '../../src/areas/oncall/test/support.ts';
import { run } from '../../src/kernel/db/index.ts';
import { Sql } from '../../src/kernel/sql.ts';
import { type Answer, quarterdeck } from '../harness/index.ts';

/** One kind of which an organization, or something of it, may have so many. */
interface Limited {
  what: string;
  most: number;
  table: string;
  /** Columns that are unique beside the id: made of the number `n`. */
  unique?: Record<string, string>;
  make(n: number): Promise<Answer>;
}

const hash = "sha256(('clone ' || n)::bytea)";

test('a limit holds for requests at once, for every kind that has one', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const service = await made(owner.post('/oncall/services', { name: 'web' }));
  const schedule = await made(
    owner.post('/oncall/schedules', {
      name: 'night',
      timezone: 'UTC',
      participants: [{ userId: owner.userId, label: '' }],
      handoff: { interval: 'weekly', dow: 1, time: '09:00' },
    }),
  );
  const incident = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await made(owner.post('/registry/registries', { slug: 'acme-images' }));
  const ahead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const span = { startsAt: ahead(1), endsAt: ahead(2) };

  const kinds: Limited[] = [
    {
      what: 'status pages',
      most: 100,
      table: 'status.page',
      unique: { slug: "'clone-' || n" },
      make: (n) => owner.post('/status-pages', { slug: `page-${n}`, title: 'x', serviceIds: [service.id] }),
    },
    {
      what: 'export tokens',
      most: 100,
      table: 'uptime.export_token',
      unique: { hash },
      make: (n) => owner.post('/uptime/export-tokens', { name: `t${n}` }),
    },
    {
      what: 'windows of a service',
      most: 100,
      table: 'uptime.maintenance',
      make: (n) => owner.post('/uptime/maintenance', { serviceId: service.id, title: `w${n}`, ...span }),
    },
    {
      what: 'schedules',
      most: 200,
      table: 'oncall.schedule',
      make: (n) =>
        owner.post('/oncall/schedules', {
          name: `s${n}`,
          timezone: 'UTC',
          participants: [],
          handoff: { interval: 'daily', time: '09:00' },
        }),
    },
    {
      what: 'escalation policies',
      most: 1_000,
      table: 'oncall.policy',
      make: (n) =>
        owner.post('/oncall/escalation-policies', {
          name: `p${n}`,
          repeat: 0,
          steps: [{ target: { kind: 'user', id: owner.userId, label: '' }, waitSeconds: 60 }],
        }),
    },
    {
      what: 'alert sources',
      most: 1_000,
      table: 'oncall.alert_source',
      unique: { hash },
      make: (n) => owner.post('/oncall/alert-sources', { name: `a${n}`, serviceId: service.id }),
    },
    {
      what: 'suppressions by hand',
      most: 100_000,
      table: 'email.suppression',
      unique: { address: "'clone' || n || '@example.com'" },
      make: (n) => owner.post('/email/suppressions', { address: `s${n}@example.com` }),
    },
    {
      what: 'calendar links of a schedule',
      most: 20,
      table: 'oncall.calendar_link',
      unique: { hash },
      make: (n) => owner.post(`/oncall/schedules/${schedule.id}/calendar-links`, { name: `l${n}` }),
    },
    {
      what: 'overrides of a schedule',
      most: 1_000,
      table: 'oncall.schedule_override',
      make: () => owner.post(`/oncall/schedules/${schedule.id}/overrides`, { userId: owner.userId, label: '', ...span }),
    },
    {
      what: 'overrides of an organization, in several schedules',
      most: 5_000,
      table: 'oncall.schedule_override',
      unique: { id: "'yy' || n", schedule_id: "'zz' || (n % 100 + 1)" },
      make: (n) => owner.post(`/oncall/schedules/zz${150 + n}/overrides`, { userId: owner.userId, label: '', ...span }),
    },
    {
      what: 'updates of an incident',
      most: 100,
      table: 'oncall.public_update',
      make: (n) => owner.post(`/oncall/incidents/${incident.id}/updates`, { body: `u${n}` }),
    },
    {
      what: 'roles',
      most: 100,
      table: 'identity.custom_role',
      unique: { name: "'clone ' || n" },
      make: (n) => owner.post('/iam/roles', { name: `r${n}`, permissions: ['uptime.monitor.read'] }),
    },
    {
      what: 'members and invitations',
      most: 1_000,
      table: 'identity.invitation',
      unique: { hash, email: "'clone' || n || '@example.com'" },
      make: (n) => owner.post('/organization/invitations', { email: `i${n}@example.com` }),
    },
    {
      what: 'tokens of a member',
      most: 1_000,
      table: 'identity.token',
      unique: { hash },
      make: (n) => owner.post('/tokens', { name: `t${n}`, expiresIn: 3_600 }),
    },
    {
      what: 'send keys',
      most: 100,
      table: 'email.send_key',
      unique: { hash, key_id: "'clone' || n" },
      make: (n) => owner.post('/email/keys', { name: `k${n}` }),
    },
    {
      what: 'webhooks',
      most: 50,
      table: 'email.webhook',
      make: (n) => owner.post('/email/webhooks', { url: `https://example.com/${n}`, eventTypes: ['email.failed'] }),
    },
    {
      what: 'domains',
      most: 100,
      table: 'email.domain',
      unique: { name: "'clone' || n || '.example.com'" },
      make: (n) => owner.post('/email/domains', { name: `d${n}.example.com` }),
    },
    {
      what: 'registries',
      most: 1_000,
      table: 'registry.registry',
      unique: { slug: "'clone' || n" },
      make: (n) => owner.post('/registry/registries', { slug: `images-${n}` }),
    },
    {
      what: 'keys of a registry',
      most: 1_000,
      table: 'registry.registry_key',
      unique: { hash, key_id: "'clone' || n" },
      make: (n) => owner.post('/registry/registries/acme-images/keys', { name: `k${n}`, mode: 'pull' }),
    },
    {
      what: 'OIDC rules of a registry',
      most: 100,
      table: 'registry.oidc_rule',
      unique: { name: "'clone' || n" },
      make: (n) =>
        owner.post('/registry/registries/acme-images/oidc-rules', {
          name: `r${n}`,
          issuer: 'https://issuer.example.com',
          audience: 'a',
          subjectPattern: 's',
          mode: 'pull',
        }),
    },
  ];

  /** Clones of one that was made as anybody makes it. */
  const fill = (kind: Limited, clones: number) => {
    const columns = Object.entries({ id: `'zz' || n`, ...kind.unique }).map(([name, made]) => `'${name}', ${made}`);
    // The numbers of rules are made by the database.
    const id = kind.table === 'registry.oidc_rule' ? [`'id', 1000000 + n`, ...columns.slice(1)] : columns;
    return app.db.write((tx) =>
      tx.query(
        new Sql(
          [
            `insert into ${kind.table} overriding system value select (jsonb_populate_record(t, jsonb_build_object(${id.join(', ')}))).* from ${kind.table} t, generate_series(1, ${clones}) n where t.ctid = (select ctid from ${kind.table} where org_id = '${owner.orgId}' limit 1)`,
          ],
          [],
        ),
      ),
    );
  };
  const count = (table: string) =>
    app.db.read((tx) => tx.query(new Sql([`select from ${table} where org_id = '${owner.orgId}'`], []))).then((r) => r.rows.length);

  for (const kind of kinds)
    await t.test(kind.what, async () => {
      const first = await kind.make(0);
      assert.equal(first.status, 201, `${kind.what}: ${JSON.stringify(first.body)}`);
      // Members count with invitations, and the tokens of the test are there already.
      const there = (await count(kind.table)) + (kind.table === 'identity.invitation' ? 1 : 0);
      await fill(kind, kind.most - 1 - there);
      const answers = await Promise.all([1, 2, 3, 4].map((n) => kind.make(n)));
      const statuses = answers.map((a) => a.status).sort();
      assert.ok(
        statuses[0] === 201 && statuses.slice(1).every((s) => s === 409 || s === 403),
        `${kind.what}: ${JSON.stringify(answers.map((a) => [a.status, a.body?.error]))}`,
      );
      if (kind.table === 'identity.token') await app.db.write((tx) => run(tx)`delete from identity.token where id like 'zz%'`);
    });
});
