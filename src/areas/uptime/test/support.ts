import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import Type from 'typebox';
import type { Caller, Quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import { row, rows } from '../../../kernel/db/index.ts';
import { type AssignmentsResponse, paths, type Result, type SessionResponse } from '../../../protocols/agent.ts';
import { ensureVantage, insertAgent } from '../store/agents.ts';

export { eventually };

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, as in the harness
export async function made(answer: Promise<{ status: number; body: any }>): Promise<any> {
  const { status, body } = await answer;
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
  return body;
}

export interface AgentAnswer<T> {
  status: number;
  body: T & { error?: string };
}

/** What a scripted agent says of a monitor: `pass` and so on, and whatever else a result may carry. */
export type Said = Partial<Result> & { monitor: string };

/** An agent that says what a test tells it to, over HTTP as a real one does. */
export interface ScriptedAgent {
  id: string;
  token: string;
  vantage: string;
  instance: string;
  /** The newest number that it has used. */
  seq: number;
  session(): Promise<SessionResponse>;
  assignments(since?: string, signal?: AbortSignal): Promise<AgentAnswer<AssignmentsResponse>>;
  /** One batch, with the next number unless one is given. */
  send(results: Said[], options?: { seq?: number; degraded?: boolean; gzip?: boolean; to?: string }): Promise<AgentAnswer<{ seq: number }>>;
  /** One batch that must be stored. */
  report(...results: Said[]): Promise<void>;
  pass(monitor: { id: string }, more?: Partial<Result>): Promise<void>;
  fail(monitor: { id: string }, more?: Partial<Result>): Promise<void>;
  /** Any request with its token. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<AgentAnswer<Record<string, unknown>>>;
}

const said = (given: Said): Result => ({
  epoch: 1,
  ageMs: 0,
  outcome: 'pass',
  ...(given.outcome === undefined || given.outcome === 'pass' || given.outcome === 'fail' ? { latencyMs: 12, status: 200 } : {}),
  ...(given.outcome === 'error' ? { latencyMs: 30, errorKind: 'connection_refused', errorDetail: 'the connection was refused' } : {}),
  ...(given.outcome === 'fail'
    ? { status: 500, errorKind: 'status_mismatch', errorDetail: 'status 500, expected 2xx', snippet: 'oops' }
    : {}),
  ...given,
});

/** Registers an agent as `quarterdeck admin agents create` does, and opens its session. `at`: another server of the same database. */
export async function agent(
  qd: Pick<Quarterdeck, 'app' | 'url'>,
  vantage: string,
  options: { token?: { id: string; key: string }; at?: string } = {},
): Promise<ScriptedAgent> {
  const { id, key } = options.token ?? (await register(qd.app, vantage));
  const base = options.at ?? qd.url;
  const instance = randomUUID();
  const ask: ScriptedAgent['ask'] = async (method, path, body, headers = {}) => {
    const answer = await fetch(path.startsWith('http') ? path : `${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const self: ScriptedAgent = {
    id,
    token: key,
    vantage,
    instance,
    seq: 0,
    ask,
    session: async () => {
      const { status, body } = await ask('POST', paths.session, { instance, version: '0.0.0-test', now: Date.now() });
      assert.equal(status, 200, JSON.stringify(body));
      self.seq = body.seq as number;
      return body as unknown as SessionResponse;
    },
    assignments: async (since, signal) => {
      const query = new URLSearchParams({ instance, ...(since === undefined ? {} : { since }) });
      const answer = await fetch(`${base}${paths.assignments}?${query}`, {
        headers: { authorization: `Bearer ${key}` },
        ...(signal ? { signal } : {}),
      });
      return { status: answer.status, body: (await answer.json()) as AssignmentsResponse };
    },
    send: async (results, { seq = ++self.seq, degraded = false, gzip = false, to = base } = {}) => {
      const batch = { instance, seq, now: Date.now(), degraded, results: results.map(said) };
      const answer = gzip
        ? await ask('POST', `${to}${paths.results}`, gzipSync(JSON.stringify(batch)), {
            'content-type': 'application/json',
            'content-encoding': 'gzip',
          })
        : await ask('POST', `${to}${paths.results}`, batch);
      return answer as unknown as AgentAnswer<{ seq: number }>;
    },
    report: async (...results) => {
      const answer = await self.send(results);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    },
    pass: (monitor, more) => self.report({ monitor: monitor.id, ...more }),
    fail: (monitor, more) => self.report({ monitor: monitor.id, outcome: 'error', ...more }),
  };
  await self.session();
  return self;
}

export const register = (app: App, vantage: string): Promise<{ id: string; key: string }> =>
  app.db.write(async (tx) => {
    await ensureVantage(tx, vantage, undefined);
    const { key, hash } = mintKey('agent');
    return { id: (await insertAgent(tx, { vantage, name: vantage, hash })).id, key };
  });

/** So many agents, each its own vantage, and a monitor that all of them watch. */
export async function watched(qd: Quarterdeck, vantages: string[], more: Record<string, unknown> = {}) {
  const agents: ScriptedAgent[] = [];
  for (const vantage of vantages) agents.push(await agent(qd, vantage));
  return { agents, monitor: await monitor(qd.owner, vantages, more) };
}

let names = 0;
// biome-ignore lint/suspicious/noExplicitAny: as above
export const monitor = (by: Caller, vantages: string[], more: Record<string, unknown> = {}): Promise<any> =>
  made(
    by.post('/uptime/monitors', {
      name: `monitor ${++names}`,
      kind: 'http',
      http: { url: 'https://checked.example/health' },
      intervalSeconds: 60,
      vantages,
      ...more,
    }),
  );

export const stateOf = async (by: Caller, { id }: { id: string }): Promise<string> => (await made(by.get(`/uptime/monitors/${id}`))).state;

export interface SeenTransition {
  at: string;
  from: string;
  to: string;
  failingVantages: string[];
}

/** Oldest first. */
export const transitionsOf = async (by: Caller, { id }: { id: string }): Promise<SeenTransition[]> =>
  (await made(by.get(`/uptime/monitors/${id}/transitions`))).transitions.toReversed();

/** Every one, beyond the 50 that are shown; oldest first. */
export const allTransitions = ({ app }: { app: App }, { id }: { id: string }) =>
  app.db.read(
    (tx) => rows(tx, Type.Object({ at: Type.String(), from_state: Type.String(), to_state: Type.String(), since: Type.String() }))`
      select at, from_state, to_state, since from uptime.transition where monitor_id = ${id} order by at, id`,
  );

const Untold = Type.Object({ n: Type.Integer() });

/** Waits until on-call was told everything that was decided so far. */
export const untilTold = ({ app }: { app: App }, withinMs = 20_000) =>
  eventually(async () => (await app.db.read((tx) => row(tx, Untold)`select count(*)::int as n from uptime.telling`))!.n === 0, {
    withinMs,
    everyMs: 5,
  });

export const failuresOf = async (by: Caller, { id }: { id: string }): Promise<{ attempt: number; vantage: string; outcome: string }[]> =>
  (await made(by.get(`/uptime/monitors/${id}/failures`))).failures;

const Counted = Type.Object({ results: Type.Integer(), rolled: Type.Integer(), missed: Type.Integer(), excluded: Type.Integer() });

/** How much history a monitor has: its checks, and what its steps of five minutes add up to. */
export const history = ({ app }: { app: App }, { id }: { id: string }) =>
  app.db.read(
    async (tx) =>
      (await row(tx, Counted)`
        select (select count(*)::int from uptime.check_result r where r.monitor_no = m.no) as results,
               coalesce(u.rolled, 0)::int as rolled, coalesce(u.missed, 0)::int as missed, coalesce(u.excluded, 0)::int as excluded
          from uptime.monitor m, lateral (select sum(n + missed + excluded) as rolled, sum(missed) as missed, sum(excluded) as excluded
                                            from uptime.check_rollup r where r.monitor_no = m.no) u
         where m.id = ${id}`)!,
  );
