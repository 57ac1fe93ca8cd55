import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { compileCache, quickFlags } from '../../../../test/harness/quick-start.ts';
import { makeGuard, parseAllow } from '../../../kernel/guard/index.ts';
import type { Certificate } from '../../../kernel/guard/test/certificates.ts';
import { makeLog } from '../../../kernel/log.ts';
import { type Assignment, type Batch, paths, type Result } from '../../../protocols/agent.ts';
import { environmentOf, type ProberSettings, proberProgram } from '../../../protocols/prober-settings.ts';
import { type AgentOptions, startAgent } from '../agent.ts';
import { systemClock } from '../clock.ts';
import { openLink } from '../delivery/link.ts';
import { noStateStore } from '../delivery/saved-state.ts';

/** The server's half of the conversation with one prober: enough to see what a prober does, and to misbehave. */
export interface FakeServer {
  readonly url: string;
  /** `away`: connections are cut. A number: everything is answered with it. */
  mood: 'well' | 'away' | 'deaf' | number;
  assignments: Assignment[];
  /** In the order in which they were stored, each once, with the time it was at by the test's clock. */
  readonly stored: (Result & { seq: number; degraded: boolean; at: number })[];
  readonly seqs: number[];
  /** How often it was asked while it was away. */
  turnedAway: number;
  readonly sessions: { instance: string; token: string }[];
  seq: number;
  vantage: string;
  /** Ends every question that waits for a change. */
  changed(): void;
}

export async function fakeServer(t: TestContext, how: { socketPath?: string; certificate?: Certificate } = {}): Promise<FakeServer> {
  const { socketPath, certificate } = how;
  let cursor = 1;
  const waiting = new Set<ServerResponse>();
  const answer = (response: ServerResponse, value: unknown, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const all = (response: ServerResponse) =>
    answer(response, { cursor: String(cursor), full: true, assignments: its.assignments, removed: [] });

  const its: FakeServer = {
    url: '',
    mood: 'well',
    assignments: [],
    stored: [],
    seqs: [],
    turnedAway: 0,
    sessions: [],
    seq: 0,
    vantage: 'fra1',
    changed() {
      cursor++;
      for (const response of waiting) all(response);
      waiting.clear();
    },
  };
  const take = (batch: Batch, response: ServerResponse) => {
    its.seqs.push(batch.seq);
    const now = performance.now();
    if (batch.seq > its.seq) {
      its.seq = batch.seq;
      for (const result of batch.results) its.stored.push({ ...result, seq: batch.seq, degraded: batch.degraded, at: now - result.ageMs });
    }
    // Stored, but the prober never hears of it.
    if (its.mood === 'deaf') return void response.destroy();
    answer(response, { seq: its.seq });
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (its.mood === 'away') {
      its.turnedAway++;
      return void request.socket.destroy();
    }
    const body = await bodyOf(request);
    if (typeof its.mood === 'number') return void answer(response, { error: 'not now' }, its.mood);
    const { pathname, searchParams } = new URL(request.url!, 'http://server');
    if (pathname === paths.session) {
      const { instance } = JSON.parse(body) as { instance: string };
      its.sessions.push({ instance, token: request.headers.authorization ?? '' });
      return void answer(response, { vantage: its.vantage, label: 'Test', now: 0, seq: its.seq, userAgent: 'Quarterdeck-uptime/1 (test)' });
    }
    if (pathname === paths.results) return take(JSON.parse(body) as Batch, response);
    if (searchParams.get('since') === String(cursor)) waiting.add(response.on('close', () => waiting.delete(response)));
    else all(response);
  };
  const server = certificate === undefined ? createServer(handle) : createHttps({ cert: certificate.cert, key: certificate.key }, handle);
  server.listen(socketPath === undefined ? { port: 0, host: '127.0.0.1' } : { path: socketPath });
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(its, {
    url: socketPath ?? `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
}

export async function bufferDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-prober-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

interface AgentHere extends Partial<AgentOptions> {
  dir: string;
  token?: string;
}

/** A prober at work in this process, where nobody kills it and what its program itself does is not asked. */
export async function agentHere(t: TestContext, server: FakeServer, { dir, token = 'qd_agent_test', ...more }: AgentHere) {
  const started = await startAgent({
    link: openLink({ server: server.url, token }),
    guard: makeGuard({ allow: parseAllow('127.0.0.0/8') }),
    clock: systemClock,
    log: makeLog('silent'),
    bufferDir: dir,
    canaries: [],
    version: '1',
    stateStore: noStateStore,
    ...more,
  });
  t.after(() => started.stop(0));
  return { stop: (graceMs = 1_000) => started.stop(graceMs) };
}

export interface ProberProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  log(): string;
}

/** The real program with these settings; ended with the test if it is still there. */
export function proberProcess(t: TestContext, settings: Partial<ProberSettings> & { bufferDir: string }, env = {}): ProberProcess {
  const whole = {
    dnsServers: [],
    allowPrivateCidrs: '127.0.0.0/8',
    canaries: [],
    logLevel: 'info',
    version: '0',
    endWithStdin: false,
    ...settings,
  };
  return processOf(t, [proberProgram], { ...environmentOf(whole as ProberSettings), ...env });
}

export function processOf(t: TestContext, args: string[], env: Record<string, string>): ProberProcess {
  const child = spawn(process.execPath, [...quickFlags, ...args], {
    env: { PATH: process.env['PATH'], ...compileCache, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, exited, log: () => said };
}
