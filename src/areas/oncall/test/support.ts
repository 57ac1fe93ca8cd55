import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import pg from 'pg';
import Type from 'typebox';
import { type FakeSmtp, fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { type Caller, caller, type Options, type Quarterdeck, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { row } from '../../../kernel/db/index.ts';

export { eventually } from '../../../../test/harness/process.ts';

export interface Ward extends Quarterdeck {
  smtp: FakeSmtp;
}

/** A server whose pages by email go to a mail server that a test can look into. */
export async function ward(t: TestContext, options: Options = {}): Promise<Ward> {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { ...options, env: { QUARTERDECK_SMTP_RELAY: smtp.url, ...options.env } });
  return { ...qd, smtp };
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, as in the harness
export async function made(answer: Promise<{ status: number; body: any }>): Promise<any> {
  const { status, body } = await answer;
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
  return body;
}

/** What the tests of a file share: opened for the first that asks, closed after the last. To be called where the file begins. */
export function shared<T>(open: (t: TestContext) => Promise<T>): () => Promise<T> {
  const ends: (() => unknown)[] = [];
  let opened: Promise<T> | undefined;
  after(async () => {
    for (const end of ends) await end();
  });
  return () => (opened ??= open({ after: (end: () => unknown) => ends.push(end) } as unknown as TestContext));
}

/** An organization of its own on a server that tests share; its people have addresses of their own. */
export async function organizationOn<Q extends Quarterdeck>(qd: Q, slug: string): Promise<Q> {
  const member: Q['member'] = (of, role, email) => qd.member(of, role, email?.replace(/@.*/, `@${slug}.example`));
  return { ...qd, owner: await qd.organization(slug), member };
}

let names = 0;
export const service = (by: Caller): Promise<{ id: string; name: string }> =>
  made(by.post('/oncall/services', { name: `service ${++names}` }));

export const user = (someone: Someone, label = '') => ({ kind: 'user', id: someone.userId, label });

export interface Escalation {
  steps: [target: Record<string, unknown>, waitSeconds: number][];
  repeat?: number;
}

/** A service with a policy attached. */
export async function covered(by: Caller, { steps, repeat = 0 }: Escalation) {
  const its = await service(by);
  const policy = await made(
    by.post('/oncall/escalation-policies', {
      name: 'policy',
      repeat,
      steps: steps.map(([target, waitSeconds]) => ({ target, waitSeconds })),
    }),
  );
  await made(by.put(`/oncall/services/${its.id}`, { escalationPolicyId: policy.id }));
  return { service: its, policy };
}

export async function source(by: Caller, url: string, serviceId: string) {
  const its = await made(by.post('/oncall/alert-sources', { name: 'prometheus', serviceId }));
  const key = caller(url, its.token);
  return {
    id: its.id as string,
    token: its.token as string,
    deliver: (body: unknown) => key.post(`/oncall/alert-sources/${its.id}/alerts`, body),
    direct: (body: unknown) => key.post(`/oncall/alert-sources/${its.id}/api/v2/alerts`, body),
  };
}

export interface AlertOptions {
  status?: 'firing' | 'resolved';
  startsAt?: string;
  endsAt?: string;
  labels?: Record<string, string>;
}

/** As Alertmanager writes one: the fingerprint is its own, and `endsAt` is Go's zero while it fires. */
export const alert = (
  fingerprint: string,
  { status = 'firing', startsAt = '2026-11-01T10:00:00.123456789Z', endsAt, labels = {} }: AlertOptions = {},
) => ({
  status,
  labels: { alertname: 'TargetDown', instance: fingerprint, severity: 'critical', ...labels },
  annotations: { summary: `${fingerprint} down`, description: 'up == 0' },
  startsAt,
  endsAt: endsAt ?? (status === 'firing' ? '0001-01-01T00:00:00Z' : '2026-11-01T10:05:00Z'),
  generatorURL: 'http://prometheus.example:9090/graph?g0.expr=up',
  fingerprint,
});

/** A group as the webhook carries it: its own status is firing while any of its alerts is. */
export const group = (alerts: ReturnType<typeof alert>[], more: Record<string, unknown> = {}) => ({
  receiver: 'quarterdeck',
  status: alerts.some((a) => a.status === 'firing') ? 'firing' : 'resolved',
  alerts,
  groupLabels: { alertname: 'TargetDown' },
  commonLabels: { alertname: 'TargetDown', severity: 'critical' },
  commonAnnotations: { description: 'up == 0' },
  externalURL: 'http://alertmanager.example:9093',
  version: '4',
  groupKey: '{}:{alertname="TargetDown"}',
  truncatedAlerts: 0,
  ...more,
});

export const detail = (by: Caller, id: string) => made(by.get(`/oncall/incidents/${id}`));
export const unresolved = async (by: Caller) => (await made(by.get('/oncall/incidents'))).incidents;

/** The incident once it looks as asked for. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export const once = (by: Caller, id: string, holds: (incident: any) => unknown) =>
  eventually(async () => {
    const found = await detail(by, id);
    return holds(found) ? found : undefined;
  });

/** Mails to an address, once there are so many. */
export const mails = (smtp: FakeSmtp, to: string, atLeast: number) =>
  eventually(async () => {
    const found = smtp.received.filter((m) => m.to.includes(to));
    return found.length >= atLeast ? found : undefined;
  });

/** Due steps and pages that are still pending. */
export const overdue = ({ app }: Pick<Quarterdeck, 'app'>): Promise<number> =>
  app.db.read(
    async (tx) =>
      (await row(tx, Type.Object({ due: Type.Integer() }))`
        select ((select count(*) from oncall.incident where walk_state = 'walking' and next_at <= kernel.now())
              + (select count(*) from oncall.page where state in ('queued', 'sending') and due_at <= kernel.now()))::int as due`)!.due,
  );

/** Takes the database away from under a server: its connections end, and new ones are refused until it is given back. */
export async function takeDatabase({ connection }: Quarterdeck): Promise<() => Promise<void>> {
  const ask = async (...statements: string[]) => {
    const client = new pg.Client({ ...connection, database: 'postgres' });
    await client.connect();
    for (const text of statements) await client.query(text);
    await client.end();
  };
  const name = String(connection.database);
  await ask(
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  return () => ask(`alter database ${name} allow_connections true`);
}
