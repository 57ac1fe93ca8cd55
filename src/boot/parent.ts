import type { Serializable } from 'node:child_process';
import type { AddressInfo, Server } from 'node:net';
import { exitCodes } from '../kernel/errors.ts';
import { guarded } from '../kernel/faults/guarded.ts';
import {
  acceptBacklog,
  handleOf,
  type ListenAddress,
  type ListeningSockets,
  ownSockets,
  type SocketHandle,
  stopAccepting,
  untilListening,
} from '../kernel/lifecycle/listening-sockets.ts';
import { sayLast } from '../kernel/lifecycle/say-last.ts';
import { build } from '../kernel/version.ts';

// The server's side of the channel to its parent process (bin/parent.mjs). A server tells what it does, and waits before it goes on: at its
// first start for nothing, at a reload until the server before has left. Listening sockets travel on the channel as node's own handles, in
// both directions; the parent keeps each one, and gives it to the next server. A server without such a parent does the same by itself.

const idOf = ({ name, host, bound }: Omit<SocketAddress, 'port'>): string => `${name} ${host}:${bound}`;

/** The server that runs while this one waits to replace it. */
export interface ServerBefore {
  data: string;
  isEmbedded: boolean;
  /** Where it listens. */
  addresses: readonly SocketAddress[];
}

/** `bound`: the port that the system chose for port 0. */
interface SocketAddress {
  name: string;
  host: string;
  port: number;
  bound: number;
}

/** How a reload ended. */
export interface ReloadOutcome {
  number: number;
  isDone: boolean;
  sentence: string;
}

export interface Inheritance {
  /** From the server before, by name. */
  handedOver: ReadonlyMap<string, unknown>;
  /** The signal that ended the server before, which could not write that down. */
  endedBy: string | undefined;
}

export interface Parent {
  /** The process that a person or a service manager stops. */
  pid: number;
  /** Whether there is one beside this process. */
  isApart: boolean;
  sockets: ListeningSockets;
  /** Present while another server runs on this data directory. */
  before: ServerBefore | undefined;
  /** Says in a word or two what this server is busy with, for a reload that takes too long. */
  doing(what: string): void;
  /** Why this server does not go on. */
  failed(why: string): void;
  /** Resolves when this server may open its data directory. */
  goOn(): Promise<Inheritance>;
  isWaiting(): boolean;
  ready(about: Pick<ServerBefore, 'data' | 'isEmbedded'>): void;
  /** The next server waits. */
  onLeave(act: () => void): void;
  /** Makes a stop of a hand-over that has begun. */
  stop(): void;
  leave(name: string, value: unknown): void;
  /** Resolves when the parent has all that was said. */
  sent(): Promise<void>;
  onReloaded(act: (outcome: ReloadOutcome) => void): void;
  /** Asks for a reload. False: there is no parent. */
  reload(): boolean;
}

/** The version of what is said here: a parent of another release may not understand it. */
const channelVersion = '1';

/** Reads what the parent says by the environment, which no program that this one starts takes for its own. */
function takeFrom(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name];
  delete environment[name];
  return value;
}

export function connectParent(environment: NodeJS.ProcessEnv): Parent {
  const version = takeFrom(environment, 'QUARTERDECK_CHANNEL');
  const before = takeFrom(environment, 'QUARTERDECK_BEFORE');
  if (version !== channelVersion || !process.send) return withoutParent;
  return new Channel(before === undefined ? undefined : (JSON.parse(before) as ServerBefore));
}

const withoutParent: Parent = {
  pid: process.pid,
  isApart: false,
  sockets: ownSockets,
  before: undefined,
  doing: () => {},
  failed: () => {},
  isWaiting: () => false,
  sent: async () => {},
  goOn: async () => ({ handedOver: new Map(), endedBy: undefined }),
  ready: () => {},
  onLeave: () => {},
  stop: () => {},
  leave: () => {},
  onReloaded: () => {},
  reload: () => false,
};

type Message =
  | { type: 'socket'; id: string; at: SocketAddress }
  | { type: 'go on'; left: Record<string, unknown>; endedBy?: string }
  | { type: 'leave' }
  | ({ type: 'reloaded' } & ReloadOutcome);

/** As in bin/parent.mjs: an address that the settings name no more, or a load balancer that was deleted meanwhile. */
const unclaimedMs = 10_000;

class Channel implements Parent {
  readonly pid = process.ppid;
  readonly isApart = true;
  readonly before: ServerBefore | undefined;
  readonly sockets: ListeningSockets;
  /** Of the server before, until one of ours takes them. */
  readonly #inherited = new Map<string, { at: SocketAddress; handle: SocketHandle }>();
  readonly #ids = new WeakMap<Server, string>();
  readonly #mayGoOn = Promise.withResolvers<Inheritance>();
  #isHandingOver = false;
  #isWaiting = true;
  #sent: Promise<void> = Promise.resolve();
  #onLeave = () => {};
  #onReloaded: (outcome: ReloadOutcome) => void = () => {};

  constructor(before: ServerBefore | undefined) {
    this.before = before;
    this.sockets = {
      listen: (server, name, at) => this.#listen(server, name, at),
      close: (server) => this.#close(server),
      isLeft: ({ host, port }) =>
        [...this.#inherited.values()].some(({ at }) => at.host === host && (at.port === port || at.bound === port)),
      take: (name, at) => {
        const [id, left] = this.#findLeft(name, at);
        if (id === undefined) return undefined;
        this.#inherited.delete(id);
        this.#send({ type: 'accepting', id });
        return left.handle;
      },
      keep: (name, at, handle) => this.#tellNew({ name, host: at.host, port: at.port, bound: at.port }, handle),
      release: (name, { host, port }) => this.#release(idOf({ name, host, bound: port })),
    };
    process.on('message', (message, handle) => this.#take(message as Message, handle as SocketHandle));
    process.on('disconnect', endWithParent);
    process.channel?.unref(); // it keeps no process alive
  }

  doing(what: string): void {
    this.#send({ type: 'doing', what });
  }

  failed(why: string): void {
    this.#send({ type: 'failed', why });
  }

  isWaiting(): boolean {
    return this.#isWaiting;
  }

  sent(): Promise<void> {
    return this.#sent;
  }

  goOn(): Promise<Inheritance> {
    process.channel?.ref(); // nothing else may keep a waiting server alive
    this.#send({ type: 'waiting', build });
    return this.#mayGoOn.promise.finally(() => {
      this.#isWaiting = false;
      process.channel?.unref();
    });
  }

  ready(about: Pick<ServerBefore, 'data' | 'isEmbedded'>): void {
    this.#send({ type: 'ready', about });
    const close = guarded('boot.unclaimed', undefined, () => this.#closeUnclaimed());
    setTimeout(close, unclaimedMs).unref();
  }

  /** The kernel goes on to take connections for a socket that one process still has: they would wait for good. The parent closes its own. */
  #closeUnclaimed(): void {
    for (const { handle } of this.#inherited.values()) handle.close();
    this.#inherited.clear();
  }

  onLeave(act: () => void): void {
    this.#onLeave = act;
  }

  stop(): void {
    this.#isHandingOver = false;
  }

  leave(name: string, value: unknown): void {
    this.#send({ type: 'left', name, value: value as Serializable });
  }

  onReloaded(act: (outcome: ReloadOutcome) => void): void {
    this.#onReloaded = act;
  }

  reload(): boolean {
    this.#send({ type: 'reload' });
    return true;
  }

  #take(message: Message, handle: SocketHandle): void {
    if (message.type === 'socket') this.#inherited.set(message.id, { at: message.at, handle });
    else if (message.type === 'go on')
      this.#mayGoOn.resolve({ handedOver: new Map(Object.entries(message.left)), endedBy: message.endedBy });
    else if (message.type === 'leave') {
      this.#isHandingOver = true;
      this.#onLeave();
    } else if (message.type === 'reloaded') {
      const { number, isDone, sentence } = message;
      this.#onReloaded({ number, isDone, sentence });
    }
  }

  #findLeft(name: string, { host, port }: ListenAddress): [id: string, left: { at: SocketAddress; handle: SocketHandle }] | [undefined] {
    const isSame = ({ at }: { at: SocketAddress }) => at.name === name && at.host === host && (at.port === port || at.bound === port);
    return [...this.#inherited].find(([, left]) => isSame(left)) ?? [undefined];
  }

  async #listen(server: Server, name: string, at: ListenAddress): Promise<void> {
    const [id, left] = this.#findLeft(name, at);
    if (id !== undefined) {
      this.#inherited.delete(id);
      server.listen(left.handle, acceptBacklog);
      await untilListening(server);
      this.#ids.set(server, id);
      return this.#send({ type: 'accepting', id });
    }
    await ownSockets.listen(server, name, at);
    const address: SocketAddress = { name, host: at.host, port: at.port, bound: (server.address() as AddressInfo).port };
    this.#ids.set(server, idOf(address));
    this.#tellNew(address, handleOf(server));
  }

  #tellNew(at: SocketAddress, handle: SocketHandle): void {
    this.#send({ type: 'listening', id: idOf(at), at: { ...at } }, handle);
  }

  #close(server: Server): void {
    if (!server.listening) return;
    const id = this.#ids.get(server);
    stopAccepting(server);
    if (id !== undefined) this.#release(id);
  }

  #release(id: string): void {
    this.#send({ type: this.#isHandingOver ? 'paused' : 'closed', id });
  }

  #send(message: Record<string, Serializable>, handle?: SocketHandle): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sent = promise;
    // An error means that the parent is gone, which `disconnect` tells.
    process.send?.(message, handle as never, {}, () => resolve());
  }
}

/**
 * A killed parent can start no other server, and the next server must not find this one holding the port and the data directory. So this
 * server ends at once, as if killed; all its state survives that.
 */
function endWithParent(): void {
  sayLast('the parent process is gone, so this server ends too');
  process.exit(exitCodes.fault);
}
