import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Static } from 'typebox';
import type { App } from '../../../../kernel/app.ts';
import { invalid } from '../../../../kernel/errors.ts';
import { holdUntilAnswered } from '../../../../kernel/http/body.ts';
import { abortWhenCallerLeaves } from '../../../../kernel/http/plane.ts';
import { checker } from '../../../../kernel/http/validate.ts';
import { Batch, type BatchResponse, pollSeconds, SessionRequest, type SessionResponse } from '../../../../protocols/agent.ts';
import { isAgentLive } from '../../engine/agent-registry.ts';
import { ingestBatch } from '../../engine/ingest-batch.ts';
import { makePartitionCache, type Partitions } from '../../engine/partitions.ts';
import { clampClock, noSession, openSession, refreshSession } from '../../engine/sessions.ts';
import { checkUserAgent } from '../../engine/trials.ts';
import { type Counters, countBatch } from '../../metrics.ts';
import { newsFor } from './assign.ts';
import { type Changes, followChanges } from './changes.ts';
import { type Identify, type Identity, refused } from './identify.ts';
import { makeOpener, type Opener } from './opener.ts';
import { readJson } from './read-json.ts';

/** What the handlers for probers need, for remote agents and for the local prober. */
export interface AgentContext {
  app: App;
  changes: Changes;
  opener: Opener;
  partitions: Partitions;
  counters: Counters;
}

export const makeAgentContext = (app: App, counters: Counters): AgentContext => ({
  app,
  changes: followChanges(app),
  opener: makeOpener(app),
  partitions: makePartitionCache(),
  counters,
});

export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  by: Identity;
  identify: Identify;
  query: URLSearchParams;
}

const holdFor = ({ bodies }: App, { vantage }: Identity, response: ServerResponse) =>
  holdUntilAnswered(bodies, { credential: vantage }, response);

const checkSession = checker(SessionRequest, 'body');
const checkBatch = checker(Batch, 'body');

export async function answerSession({ app }: AgentContext, { request, response, by }: Call): Promise<SessionResponse> {
  const given = checkSession(await readJson(request, holdFor(app, by, response))) as Static<typeof SessionRequest>;
  by.opens?.(given.instance);
  const opened = await app.db.write(async (tx) => ((await isAgentLive(tx, by.agentId)) ? openSession(tx, by, given) : undefined));
  if (!opened) throw refused();
  return {
    vantage: by.vantage,
    label: opened.label,
    now: opened.now,
    seq: opened.seq,
    userAgent: checkUserAgent(app),
  };
}

/** Long poll: waits until there is a change for this instance, or the server ends. */
export async function answerAssignments({ app, changes, opener }: AgentContext, { request, response, by, identify, query }: Call) {
  const instance = query.get('instance') ?? '';
  if (!isInstance.test(instance)) invalid('instance must be the id that the session was opened with');
  await app.db.read((tx) => refreshSession(tx, by.vantage, instance));
  const since = query.get('since');
  const until = performance.now() + pollSeconds * 1000;
  const gone = abortWhenCallerLeaves(response); // not when the socket closes: it carries many requests
  const ended = AbortSignal.any([gone, app.ending]);
  let over = AbortSignal.any([by.signal, ended]);
  for (;;) {
    const seen = changes.count();
    const news = await app.db.read((tx) => newsFor(tx, opener, by.vantage, instance, since ?? undefined));
    if (news) return news;
    while (changes.count() === seen && !over.aborted) {
      const left = until - performance.now();
      if (left <= 0) return noNews(since);
      await changes.after(seen, left, over);
    }
    gone.throwIfAborted();
    if (app.ending.aborted) return noNews(since);
    if (by.signal.aborted) over = AbortSignal.any([(await identify(request)).signal, ended]); // the principal may only have been dropped from the cache
  }
}

const noNews = (since: string | null) => ({ cursor: since, full: false, assignments: [], removed: [] });

export async function answerResults(
  { app, partitions, counters }: AgentContext,
  { request, response, by }: Call,
): Promise<Static<typeof BatchResponse>> {
  const batch = checkBatch(await readJson(request, holdFor(app, by, response))) as Batch;
  const given = { ...batch, now: clampClock(batch.now) };
  const taken = await ingestBatch(app, partitions, by, given).catch((error) => {
    if (error?.code !== noPartition) throw error;
    // A server with a clock far ahead dropped the partition since this process cached it.
    partitions.forget();
    return ingestBatch(app, partitions, by, given);
  });
  if (taken.status === 'revoked') throw refused();
  if (taken.status === 'no session') noSession();
  countBatch(counters, by.vantage, taken);
  return { seq: batch.seq };
}

const isInstance = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const noPartition = '23514';
