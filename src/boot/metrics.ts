import http from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import type { App } from '../kernel/app.ts';
import { exitCodes, Refusal, Stop } from '../kernel/errors.ts';
import { guarded } from '../kernel/faults/guarded.ts';
import { refuseEarly, refuseMalformed, refuseTunnels } from '../kernel/http/server.ts';
import { makeTimings } from '../kernel/http/timings.ts';
import { jobFigures, type Worker, type WorkerEvents } from '../kernel/jobs/index.ts';

let figures: Metric[] | undefined;

/** The figures of the process are made once: their timers and observers stay until the process ends, however many servers it has had. */
function processFigures(): Metric[] {
  if (figures) return figures;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  figures = registry.getMetricsAsArray().map(({ name }) => registry.getSingleMetric(name)!);
  return figures;
}

/** The numbers an operator watches. Event-loop delay is among the figures of the process. */
export function makeMetrics(app: App): Registry {
  const registry = new Registry();
  for (const figure of processFigures()) registry.registerMetric(figure);
  new Gauge({
    name: 'quarterdeck_database_pool_connections',
    help: 'Connections of the pool by state',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { totalCount, idleCount, waitingCount } = app.db.pool;
      this.set({ state: 'busy' }, totalCount - idleCount);
      this.set({ state: 'idle' }, idleCount);
      this.set({ state: 'waiting' }, waitingCount);
    },
  });
  new Gauge({
    name: 'quarterdeck_listener_hearing',
    help: '1 while revocations from other processes are heard, 0 while caches are bypassed',
    registers: [registry],
    collect() {
      this.set(app.listener.hearing ? 1 : 0);
    },
  });
  new Gauge({
    name: 'quarterdeck_restore_held',
    help: '1 while mail, pages and webhooks wait for `quarterdeck admin restore go`, else 0',
    registers: [registry],
    collect() {
      this.set(app.hold.isHeld ? 1 : 0);
    },
  });
  measureShares(registry, app);
  measureLoop(registry, app);
  return registry;
}

/** Beyond so many organizations, those with the most are shown: a label must not grow without end. */
const maxOrgs = 50;
const largest = <T extends { org: string }>(figures: T[], of: (figure: T) => number) =>
  figures.sort((a, b) => of(b) - of(a)).slice(0, maxOrgs);

/** Who uses how much of what runs out, at this moment. */
function measureShares(registry: Registry, { db, requests, bodies, refusals }: App) {
  new Gauge({
    name: 'quarterdeck_share_requests',
    help: 'Requests of an organization that are answered or wait for their turn',
    labelNames: ['organization', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { org, inside, waiting } of largest(requests.figures(), (f) => f.inside + f.waiting)) {
        this.set({ organization: org, state: 'answered' }, inside);
        this.set({ organization: org, state: 'waiting' }, waiting);
      }
    },
  });
  new Counter({
    name: 'quarterdeck_share_refusals_total',
    help: 'Refusals because a share was used up, by what ran out and whose it was',
    labelNames: ['share', 'organization'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { share, org, count } of largest(refusals.figures(), (f) => f.count)) this.inc({ share, organization: org }, count);
    },
  });
  new Gauge({
    name: 'quarterdeck_share_connections',
    help: 'Connections to the database that an organization has or waits for; empty: the house itself',
    labelNames: ['organization', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { org, inside, waiting } of largest(db.connectionSlots.figures(), (f) => f.inside + f.waiting)) {
        this.set({ organization: org, state: 'busy' }, inside);
        this.set({ organization: org, state: 'waiting' }, waiting);
      }
    },
  });
  new Gauge({
    name: 'quarterdeck_share_body_bytes',
    help: 'Bytes of request bodies in memory, by organization',
    labelNames: ['organization'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { org, bytes } of largest(bodies.figures().orgs, (f) => f.bytes)) this.set({ organization: org }, bytes);
    },
  });
}

/** Who held the event loop, and who rested so that others could have it. */
function measureLoop(registry: Registry, { watch }: App) {
  new Gauge({
    name: 'quarterdeck_share_loop_resting',
    help: 'Pieces of work of an organization that rest, because it has had much of the event loop and others, who have had less, want some of it',
    labelNames: ['organization'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { org, waiting } of largest(watch.throttle.figures().resting, (f) => f.waiting)) this.set({ organization: org }, waiting);
    },
  });
  new Counter({
    name: 'quarterdeck_loop_rested_seconds_total',
    help: 'For how long pieces of work have rested so',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(watch.throttle.figures().restedSeconds);
    },
  });
  new Counter({
    name: 'quarterdeck_loop_held_seconds_total',
    help: 'Time for which one piece of work held the event loop for 20 ms or more, by operation, plane, job or task',
    labelNames: ['act'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { act, seconds } of watch.figures()) this.inc({ act }, seconds);
    },
  });
  new Gauge({
    name: 'quarterdeck_loop_held_longest_seconds',
    help: 'The longest of these pieces since the start',
    labelNames: ['act'],
    registers: [registry],
    collect() {
      for (const { act, longest } of watch.figures()) this.set({ act }, longest);
    },
  });
}

export function measureRequests(server: FastifyInstance, registry: Registry) {
  const seconds = makeTimings({
    name: 'quarterdeck_http_request_seconds',
    help: 'Time to answer, by operation',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registry,
  });
  const refused = new Counter({
    name: 'quarterdeck_http_refusals_total',
    help: 'Answers of 400 and above, by status',
    labelNames: ['status'],
    registers: [registry],
  });
  const series = new Map<string, ReturnType<typeof seconds.series>[]>();
  const of = (operation: string, hundreds: number) => {
    let known = series.get(operation);
    if (!known) {
      known = [];
      series.set(operation, known);
    }
    known[hundreds] ??= seconds.series({ operation, status: `${hundreds}xx` });
    return known[hundreds];
  };
  // When the answer is handed over, not when it has left: how fast a client reads is not ours to measure, and costs a listener each.
  server.addHook('onSend', (request, reply, _payload, done) => {
    const operation = request.routeOptions.config.spec?.id ?? request.routeOptions.url ?? 'none';
    of(operation, Math.floor(reply.statusCode / 100))(reply.elapsedTime / 1000);
    if (reply.statusCode >= 400) refused.inc({ status: reply.statusCode });
    done();
  });
}

/** Which slots of each lane an organization has at this moment; '-' for the house. */
export function measureSlots(registry: Registry, worker: Worker) {
  new Gauge({
    name: 'quarterdeck_share_job_slots',
    help: 'Jobs that run at this moment, by lane and organization',
    labelNames: ['lane', 'organization'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [lane, { runningOf }] of Object.entries(worker.snapshot().lanes))
        for (const [organization, running] of runningOf) this.set({ lane, organization }, running);
    },
  });
}

/** How late work begins, how long it takes, how it ends; and what waits or has been given up, asked of the database at scrape time. */
export function measureJobs(registry: Registry, app: App): WorkerEvents {
  const late = new Histogram({
    name: 'quarterdeck_job_late_seconds',
    help: 'From when a job was due until it began',
    labelNames: ['lane'],
    buckets: [0.01, 0.05, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  const ended = new Counter({
    name: 'quarterdeck_jobs_total',
    help: 'Attempts by how they ended',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  const oldest = new Gauge({
    name: 'quarterdeck_job_oldest_due_seconds',
    help: 'How long the oldest due job of a lane has waited',
    labelNames: ['lane'],
    registers: [registry],
  });
  const tasks = new Gauge({
    name: 'quarterdeck_task_since_ok_seconds',
    help: 'How long ago a task last went well',
    labelNames: ['task'],
    registers: [registry],
  });
  new Gauge({
    name: 'quarterdeck_jobs_dead',
    help: 'Jobs given up after their last attempt; see quarterdeck admin jobs',
    registers: [registry],
    async collect() {
      const figures = await app.db.read(jobFigures).catch(() => undefined);
      if (!figures) return; // the database is away: the last figures stand
      this.set(figures.dead);
      for (const { lane, oldest_due_seconds } of figures.lanes) oldest.set({ lane }, oldest_due_seconds);
      for (const { name, since_ok_seconds } of figures.tasks) if (since_ok_seconds !== null) tasks.set({ task: name }, since_ok_seconds);
    },
  });
  return {
    started: ({ lane, lateSeconds }) => late.observe({ lane }, lateSeconds),
    ended: ({ kind, outcome }) => ended.inc({ kind, outcome }),
  };
}

/** An address for the numbers alone, for networks where it may be open. */
export async function serveMetrics({ config, sockets }: App, registry: Registry): Promise<http.Server | undefined> {
  const at = config.metrics_listen;
  if (!at) return undefined;
  const answer = (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (request.url !== '/metrics')
      return refuseEarly(request, response, new Refusal(404, 'no_such_operation', 'there is only /metrics here'));
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error) => refuseEarly(request, response, error),
    );
  };
  const server = http.createServer(guarded('metrics.request', ([{ socket }]) => socket, answer));
  server.on(
    'clientError',
    guarded('metrics.client-error', ([, socket]) => socket, refuseMalformed),
  );
  refuseTunnels(server);
  await sockets.listen(server, 'metrics', at).catch((error: NodeJS.ErrnoException) => {
    throw new Stop(exitCodes.portTaken, `metrics cannot listen on ${at.host}:${at.port}: ${error.code}; set QUARTERDECK_METRICS_LISTEN`);
  });
  return server;
}

/** The last scrape may be under way. */
export function closeMetrics({ sockets }: App, server: http.Server): void {
  sockets.close(server);
  server.closeIdleConnections();
}
