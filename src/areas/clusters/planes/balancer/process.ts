import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { ListeningSockets, SocketHandle } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { ownEnvironment, passLine } from '../../../../kernel/programs/own.ts';
import type { BalancerFigures, ServedService, ServingProblems } from '../../engine/balancer/listener.ts';
import { type FromProgram, type ProgramSettings, type Request, type ServedCluster, settingsVariable, type ToProgram } from './channel.ts';
import { type KeptSockets, makeKeptSockets } from './kept-sockets.ts';

/** Compiled in the npm package, a source elsewhere. */
const program = fileURLToPath(new URL(`./program${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Short connections leave garbage that is young: with more room for it, less is moved. */
const flags = ['--max-semi-space-size=8', '--v8-pool-size=1'];
const backoff = { firstMs: 100, maxMs: 10_000, healthyMs: 60_000 };
/** A program that has not answered after this time is killed: its successor answers. What closes is waited for by the next holder of a lease. */
const answerMs = { serve: 10_000, close: 4_000, drain: 1_000 };
/** Longer still, for an answer that waits behind a stall of this process. */
const graceMs = 500;
/** Without a Service, it ends. */
const idleMs = 60_000;
const endMs = 2_000;

export interface ProcessParts {
  log: Logger;
  sockets: ListeningSockets;
  settings: ProgramSettings;
  /** Instead of `answerMs`. */
  answerMs: number | undefined;
}

/** A balancer program, which runs while there is something to serve. What it serves is served again when it was started again. */
export interface BalancerProcess {
  /** Rejects if a Service is not served: the program ended, or did not answer. What closes is closed then. */
  ask(request: Request): Promise<ServingProblems>;
  figuresOf(cluster: string): BalancerFigures;
  connections(): number;
  stop(): Promise<void>;
}

interface Waiting {
  resolve(problems: ServingProblems): void;
  reject(error: Error): void;
}

interface Ended {
  code?: number | null;
  signal?: NodeJS.Signals | null;
  err?: unknown;
}

const noFigures: BalancerFigures = { bytesIn: 0, bytesOut: 0, connections: 0 };

export class ProgramBeside implements BalancerProcess {
  readonly #parts: ProcessParts;
  readonly #kept: KeptSockets;
  #child: ChildProcess | undefined;
  /** Until no program runs, and none is to be started. */
  #running: Promise<void> | undefined;
  /** The program was told to end. */
  #isEnding = false;
  readonly #stopping = new AbortController();
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();
  /** By cluster and Service: what it is to serve. */
  readonly #served = new Map<string, { cluster: string; service: ServedService }>();
  readonly #clusters = new Map<string, ServedCluster>();
  #figures = new Map<string, BalancerFigures>();
  /** Of programs that have ended. */
  readonly #before = new Map<string, BalancerFigures>();

  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.#kept = makeKeptSockets(parts.sockets);
  }

  figuresOf(cluster: string): BalancerFigures {
    return sum(this.#before.get(cluster) ?? noFigures, this.#figures.get(cluster) ?? noFigures);
  }

  connections(): number {
    return [...this.#figures.values()].reduce((all, { connections }) => all + connections, 0);
  }

  async ask(request: Request): Promise<ServingProblems> {
    clearTimeout(this.#idle);
    this.#note(request);
    if (request.act === 'serve') {
      while (this.#isEnding) await this.#running;
      // What was closed meanwhile is not served.
      if (!this.#served.has(`${request.cluster.id} ${request.service.uid}`)) return {};
      if (!this.#stopping.signal.aborted) this.#running ??= this.#run();
      if (!this.#child) throw new Error('the program that accepts its connections is being started again');
    }
    const child = this.#child;
    try {
      return child ? await this.#send(request) : {};
    } catch (error) {
      if (request.act === 'serve' || this.#child === child) throw error;
      return {}; // it ended, and the next one does not begin with this
    } finally {
      this.#leave(request);
      this.#endWhenIdle();
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#idle);
    this.#endChild();
    await this.#running;
    this.#kept.releaseAll();
  }

  /** What a program that is started again has to serve. */
  #note(request: Request): void {
    if (request.act === 'serve' || request.act === 'set nodes') {
      const { cluster } = request;
      const uid = request.act === 'serve' ? request.service.uid : request.uid;
      const known = this.#served.get(`${cluster.id} ${uid}`)?.service;
      const service = request.act === 'serve' ? request.service : known && { ...known, nodes: request.nodes };
      if (!service) return;
      this.#clusters.set(cluster.id, cluster);
      this.#served.set(`${cluster.id} ${uid}`, { cluster: cluster.id, service });
    } else if (request.act === 'close') this.#served.delete(`${request.cluster} ${request.uid}`);
    else
      for (const [key, { cluster }] of this.#served) if (request.act === 'drain' || cluster === request.cluster) this.#served.delete(key);
  }

  /** The sockets of what is closed, if the program ended before it could say so. */
  #leave(request: Request): void {
    if (request.act === 'close') this.#kept.releaseService(request.cluster, request.uid);
    else if (request.act === 'drain') this.#kept.releaseAll();
    else if (request.act === 'close all') {
      if ([...this.#served.values()].some(({ cluster }) => cluster === request.cluster)) return; // it was opened again
      this.#kept.releaseCluster(request.cluster);
      this.#clusters.delete(request.cluster);
      this.#before.delete(request.cluster);
    }
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#served.size > 0 || this.#waiting.size > 0) return; // an answer may be a long drain
    this.#idle = setTimeout(() => this.#served.size === 0 && this.#endChild(), idleMs).unref();
  }

  #send(request: Request): Promise<ServingProblems> {
    const child = this.#child!;
    const id = ++this.#lastId;
    const answered = new Promise<ServingProblems>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    tell(child, { type: 'request', id, request });
    const kill = () => {
      this.#parts.log.error({ pid: child.pid, act: request.act }, 'the balancer program does not answer; it is killed');
      child.kill('SIGKILL');
    };
    let timer = setTimeout(() => {
      timer = setTimeout(kill, graceMs);
    }, this.#limitOf(request));
    return answered.finally(() => clearTimeout(timer));
  }

  #limitOf(request: Request): number {
    const { answerMs: given } = this.#parts;
    if (request.act === 'drain') return request.limitMs + (given ?? answerMs.drain);
    return given ?? (request.act === 'serve' ? answerMs.serve : answerMs.close);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let pause = backoff.firstMs;
    for (let isAgain = false; !signal.aborted && (this.#served.size > 0 || !isAgain); isAgain = true) {
      const began = performance.now();
      const ended = await this.#runOnce(isAgain);
      if (signal.aborted || this.#isEnding) break;
      this.#parts.log.error(
        { ...ended },
        'the balancer program ended, and its connections are cut; it is started again if there is something to serve',
      );
      if (performance.now() - began > backoff.healthyMs) pause = backoff.firstMs;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      pause = Math.min(pause * 2, backoff.maxMs);
    }
    this.#isEnding = false;
    this.#running = undefined;
  }

  /** Resolves when it has ended. */
  async #runOnce(isAgain: boolean): Promise<Ended> {
    const ended = Promise.withResolvers<Ended>();
    try {
      this.#child = this.#start(ended.resolve);
    } catch (err) {
      return { err }; // without descriptors or memory there is none; there may be later
    }
    this.#kept.forgetClaims();
    if (isAgain) void this.#serveAgain(this.#child);
    const how = await ended.promise;
    this.#child = undefined;
    for (const { reject } of this.#waiting.values()) reject(new Error('the program that accepts its connections ended'));
    this.#waiting.clear();
    for (const [id, { bytesIn, bytesOut }] of this.#figures)
      if (this.#clusters.has(id)) this.#before.set(id, sum(this.#before.get(id) ?? noFigures, { bytesIn, bytesOut, connections: 0 }));
    this.#figures.clear();
    return how;
  }

  #start(end: (how: Ended) => void): ChildProcess {
    const { settings, log } = this.#parts;
    const child = spawn(process.execPath, [...flags, program], {
      env: { ...ownEnvironment(), [settingsVariable]: JSON.stringify(settings) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const fail = (err: Error) => child.pid === undefined && end({ err });
    child.on('error', guarded('clusters.balancer.spawn', undefined, fail));
    child.once(
      'exit',
      guarded('clusters.balancer.exit', undefined, (code, signal) => end({ code, signal })),
    );
    const take = (message: unknown, handle: unknown) => this.#take(child, message as FromProgram, handle as SocketHandle | undefined);
    child.on('message', guarded('clusters.balancer.message', undefined, take));
    // Absent where it could not be started for want of descriptors.
    if (child.stderr) {
      const pass = (line: string) => passLine(log, 'the balancer program', line);
      createInterface({ input: child.stderr }).on('line', guarded('clusters.balancer.line', undefined, pass));
    }
    return child;
  }

  async #serveAgain(child: ChildProcess): Promise<void> {
    const again = [...this.#served.values()].map(({ cluster, service }) =>
      this.#send({ act: 'serve', cluster: this.#clusters.get(cluster)!, service }),
    );
    const failed = (await Promise.allSettled(again)).find((each) => each.status === 'rejected');
    if (failed)
      this.#parts.log.warn({ err: failed.reason }, 'a load balancer could not be served again; the next look at its cluster does');
    // Ports that were given up while no program ran.
    else if (child === this.#child) this.#kept.releaseUnclaimed();
    this.#endWhenIdle();
  }

  #take(child: ChildProcess, message: FromProgram, handle: SocketHandle | undefined): void {
    if (child !== this.#child) return void handle?.close();
    if (message.type === 'answer') {
      const found = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) found?.resolve(message.problems ?? {});
      else found?.reject(new Error(message.error));
    } else if (message.type === 'figures') this.#figures = new Map(message.clusters);
    else if (message.type === 'released') this.#kept.release(message.at);
    else if (message.type === 'ask socket') {
      const { id, at } = message;
      // One that was closed before it was sent is none.
      tell(child, { type: 'socket', id }, this.#kept.find(at), () => tell(child, { type: 'socket', id }));
    } else if (handle) this.#kept.keep(message.at, handle);
  }

  #endChild(): void {
    const child = this.#child;
    if (!child) return;
    this.#isEnding = true;
    if (child.connected) child.disconnect();
    const late = setTimeout(() => child.kill('SIGKILL'), endMs);
    child.once(
      'exit',
      guarded('clusters.balancer.ended', undefined, () => clearTimeout(late)),
    );
  }
}

/** An error means that the program is gone, which `exit` tells, or that the socket is closed. */
function tell(child: ChildProcess, message: ToProgram, handle?: SocketHandle, failed: () => void = () => {}): void {
  if (!child.connected) return;
  child.send(message, handle as never, {}, (error) => (error && handle ? failed() : undefined));
}

const sum = (a: BalancerFigures, b: BalancerFigures): BalancerFigures => ({
  bytesIn: a.bytesIn + b.bytesIn,
  bytesOut: a.bytesOut + b.bytesOut,
  connections: a.connections + b.connections,
});
