import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { ListeningSockets, SocketHandle } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { ownEnvironment, passLine } from '../../../../kernel/programs/own.ts';
import type { BalancerFigures, ServingProblems } from '../../engine/balancer/listener.ts';
import { type FromProgram, type ProgramSettings, type Request, type SocketAt, settingsVariable, type ToProgram } from './channel.ts';

/** Compiled in the npm package, a source elsewhere. */
const program = fileURLToPath(new URL(`./program${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Short connections leave garbage that is young: with more room for it, less is moved. */
const flags = ['--max-semi-space-size=8', '--v8-pool-size=1'];
const backoff = { firstMs: 100, maxMs: 10_000, healthyMs: 60_000 };
const defaultAnswerMs = 10_000;
/** Without a Service, it ends. */
const idleMs = 60_000;
const endMs = 2_000;

export interface ProcessParts {
  log: Logger;
  sockets: ListeningSockets;
  settings: ProgramSettings;
  /** A program that has not answered after this time is killed and started again. */
  answerMs: number | undefined;
}

/** A balancer program, which runs while there is something to serve. What it serves is served again when it was started again. */
export interface BalancerProcess {
  pid(): number | undefined;
  /** Rejects if it does not answer in time. */
  ask(request: Request): Promise<ServingProblems>;
  /** By cluster. */
  figures(): ReadonlyMap<string, BalancerFigures>;
  stop(): Promise<void>;
}

interface Waiting {
  resolve(problems: ServingProblems): void;
  reject(error: Error): void;
}

const noFigures: BalancerFigures = { bytesIn: 0, bytesOut: 0, connections: 0 };

export function makeBalancerProcess(parts: ProcessParts): BalancerProcess {
  return new Process(parts);
}

class Process implements BalancerProcess {
  readonly #parts: ProcessParts;
  #child: ChildProcess | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();
  /** By cluster and Service: what it was asked to serve last. */
  readonly #served = new Map<string, Extract<Request, { act: 'serve' }>>();
  /** Copies of its listening sockets, in which connections wait while it is started again. */
  readonly #sockets = new Map<string, { at: SocketAt; handle: SocketHandle }>();
  /** Those that the program that runs now has asked for. */
  readonly #claimed = new Set<string>();
  #figures = new Map<string, BalancerFigures>();
  /** Bytes of programs that have ended. */
  readonly #before = new Map<string, BalancerFigures>();

  constructor(parts: ProcessParts) {
    this.#parts = parts;
  }

  pid(): number | undefined {
    return this.#child?.pid;
  }

  figures(): ReadonlyMap<string, BalancerFigures> {
    const ids = new Set([...this.#figures.keys(), ...this.#before.keys()]);
    return new Map([...ids].map((id) => [id, sum(this.#before.get(id) ?? noFigures, this.#figures.get(id) ?? noFigures)]));
  }

  async ask(request: Request): Promise<ServingProblems> {
    this.#note(request);
    clearTimeout(this.#idle);
    if (request.act === 'serve') {
      this.#running ??= this.#run();
      if (!this.#child) throw new Error('the program that accepts its connections is being started again');
    }
    try {
      return this.#child ? await this.#send(request) : {};
    } catch (error) {
      if (request.act === 'serve' || this.#child) throw error;
      return {}; // it ended, and the next one does not begin with this
    } finally {
      if (request.act !== 'serve') this.#releaseUnserved();
      if (request.act === 'close all') this.#before.delete(request.cluster);
      if (this.#served.size === 0) this.#idle = setTimeout(() => this.#endChild(), idleMs).unref();
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#idle);
    this.#endChild();
    await this.#running;
    for (const key of [...this.#sockets.keys()]) this.#release(key);
  }

  /** What a program that is started again has to serve. */
  #note(request: Request): void {
    if (request.act === 'serve') this.#served.set(`${request.cluster.id} ${request.service.uid}`, request);
    else if (request.act === 'drain') this.#served.clear();
    else if (request.act === 'close') this.#served.delete(`${request.cluster} ${request.uid}`);
    else if (request.act === 'close all') {
      for (const [key, { cluster }] of this.#served) if (cluster.id === request.cluster) this.#served.delete(key);
    } else {
      const found = this.#served.get(`${request.cluster} ${request.uid}`);
      if (found) found.service = { ...found.service, nodes: request.nodes };
    }
  }

  #send(request: Request): Promise<ServingProblems> {
    const child = this.#child!;
    const id = ++this.#lastId;
    const answered = new Promise<ServingProblems>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    child.send({ type: 'request', id, request } satisfies ToProgram, () => {}); // an error means that it is gone, which `exit` tells
    const limitMs = (this.#parts.answerMs ?? defaultAnswerMs) + (request.act === 'drain' ? request.limitMs : 0);
    const timer = setTimeout(() => {
      this.#parts.log.error({ pid: child.pid }, 'the balancer program does not answer; it is started again');
      child.kill('SIGKILL');
    }, limitMs);
    return answered.finally(() => clearTimeout(timer));
  }

  async #run(): Promise<void> {
    let pause = backoff.firstMs;
    let isAgain = false;
    while (!this.#isStopped && this.#served.size > 0) {
      const began = performance.now();
      const ended = await this.#runOnce(isAgain);
      isAgain = true;
      if (this.#isStopped || this.#served.size === 0) break;
      this.#parts.log.error({ ...ended }, 'the balancer program ended; it is started again, and its connections are cut');
      if (performance.now() - began > backoff.healthyMs) pause = backoff.firstMs;
      await sleep(pause, undefined, { ref: false });
      pause = Math.min(pause * 2, backoff.maxMs);
    }
    this.#running = undefined;
  }

  /** Resolves when it has ended. */
  async #runOnce(isAgain: boolean): Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }> {
    const { settings, log } = this.#parts;
    const child = spawn(process.execPath, [...flags, program], {
      env: { ...ownEnvironment(), [settingsVariable]: JSON.stringify(settings) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const ended = Promise.withResolvers<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }>();
    const fail = (error: Error) => child.pid === undefined && ended.resolve({ code: null, signal: null, error });
    child.once(
      'exit',
      guarded('clusters.balancer.exit', undefined, (code, signal) => ended.resolve({ code, signal })),
    );
    child.on('error', guarded('clusters.balancer.spawn', undefined, fail));
    const take = (message: unknown, handle: unknown) => this.#take(child, message as FromProgram, handle as SocketHandle | undefined);
    child.on(
      'message',
      guarded('clusters.balancer.message', child.pid === undefined ? undefined : { destroy: () => child.kill('SIGKILL') }, take),
    );
    const tell = (line: string) => passLine(log, 'the balancer program', line);
    createInterface({ input: child.stderr! }).on('line', guarded('clusters.balancer.line', undefined, tell));
    this.#child = child;
    this.#claimed.clear();
    if (isAgain) void this.#serveAgain();
    const how = await ended.promise;
    this.#child = undefined;
    for (const { reject } of this.#waiting.values()) reject(new Error('the program that accepts its connections ended'));
    this.#waiting.clear();
    for (const [id, { bytesIn, bytesOut }] of this.#figures)
      this.#before.set(id, sum(this.#before.get(id) ?? noFigures, { bytesIn, bytesOut, connections: 0 }));
    this.#figures.clear();
    return how;
  }

  async #serveAgain(): Promise<void> {
    const child = this.#child;
    const results = await Promise.allSettled([...this.#served.values()].map((request) => this.#send(request)));
    const failed = results.find((each) => each.status === 'rejected');
    if (failed)
      this.#parts.log.warn({ err: failed.reason }, 'a load balancer could not be served again; the next look at its cluster does');
    // Ports that were given up while no program ran.
    if (child === this.#child) for (const key of [...this.#sockets.keys()]) if (!this.#claimed.has(key)) this.#release(key);
  }

  #take(child: ChildProcess, message: FromProgram, handle: SocketHandle | undefined): void {
    if (child !== this.#child) return void handle?.close();
    if (message.type === 'answer') {
      const found = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) found?.resolve(message.problems ?? {});
      else found?.reject(new Error(message.error));
    } else if (message.type === 'figures') this.#figures = new Map(message.clusters);
    else if (message.type === 'released') this.#release(keyOf(message.at));
    else if (message.type === 'opened') {
      if (handle) this.#keep(message.at, handle);
      if (handle) this.#parts.sockets.keep(message.at.name, message.at, handle);
    } else {
      const { id, at } = message;
      const open = this.#sockets.get(keyOf(at))?.handle ?? this.#parts.sockets.take(at.name, at);
      if (open) this.#keep(at, open);
      child.send({ type: 'socket', id } satisfies ToProgram, open as never, () => {});
    }
  }

  #keep(at: SocketAt, handle: SocketHandle): void {
    this.#sockets.set(keyOf(at), { at, handle });
    this.#claimed.add(keyOf(at));
  }

  #release(key: string): void {
    const found = this.#sockets.get(key);
    if (!found) return;
    this.#sockets.delete(key);
    found.handle.close();
    this.#parts.sockets.release(found.at.name, found.at);
  }

  /** Of Services that are closed, if the program ended before it could say so. */
  #releaseUnserved(): void {
    const names = [...this.#served.keys()].map((each) => `load balancer ${each} `);
    for (const [key, { at }] of this.#sockets) if (!names.some((name) => at.name.startsWith(name))) this.#release(key);
  }

  #endChild(): void {
    const child = this.#child;
    if (!child) return;
    if (child.connected) child.disconnect();
    const late = setTimeout(() => child.kill('SIGKILL'), endMs);
    child.once(
      'exit',
      guarded('clusters.balancer.ended', undefined, () => clearTimeout(late)),
    );
  }
}

const keyOf = ({ name, host, port }: SocketAt): string => `${name} ${host}:${port}`;

const sum = (a: BalancerFigures, b: BalancerFigures): BalancerFigures => ({
  bytesIn: a.bytesIn + b.bytesIn,
  bytesOut: a.bytesOut + b.bytesOut,
  connections: a.connections + b.connections,
});
