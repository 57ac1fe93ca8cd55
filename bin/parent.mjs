// The parent of `quarterdeck serve`: starts the server, passes signals on, starts another when it crashed, and on SIGUSR2 replaces it by the
// program that is on disk by then. Plain JavaScript without dependencies, as small as a Node process can be: it lives as long as the service.
//
// It keeps every listening socket of the server, and never accepts on one: connections wait in the kernel while no server accepts. Servers talk
// to it over node's channel between processes; src/boot/parent.ts is their side. The states, and what a crash leaves:
// docs/decisions/0030-a-server-is-replaced-by-its-parent.md
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { isatty } from 'node:tty';

/** So many crashes within so long, and it gives up: a service manager, or a person, must look. */
const crashLimit = { count: 5, withinMs: 60_000 };
const backoff = { firstMs: 250, maxMs: 4_000 };
const stopSignals = ['SIGINT', 'SIGTERM'];

const limits = {
  /** The next server has this long until it waits, and the one before it this long to leave. A kill then loses nothing. */
  loadMs: 60_000,
  leaveMs: 30_000,
  /** Sockets that a server has not taken over this long after it was ready are closed: its settings name others. */
  unclaimedMs: 10_000,
};

/**
 * What a server says with these exit codes (src/kernel/errors.ts) may be over in a moment, if one was ready here before: the data directory or
 * the port still being given up by the one that crashed, a database that is away. At a first start they are told at once.
 */
const transientExitCodes = [3, 4, 6];

/** The version of what is said on the channel. */
const channelVersion = '1';

const say = (sentence) => process.stderr.write(`quarterdeck: ${sentence}\n`);
const seconds = (ms) => (ms / 1000).toFixed(2);

/**
 * Runs the server until it ends by itself or is stopped; does not return. `program` finds what to run, again before each start, and throws a
 * sentence if there is nothing; `isNext`: beside a server that runs. `cannotRun` says such a sentence and ends this process.
 */
export async function superviseServer({ program, cannotRun, ...given }) {
  await new Parent(program, cannotRun, { ...limits, ...given }).run();
}

class Parent {
  #program;
  #cannotRun;
  #limits;
  /** The server that starts, serves or leaves. */
  #current;
  /** During a reload, the server that loads or waits. It has no `child` while its program is looked for. */
  #next;
  /** The last reload, until it is told how it ended. */
  #reload;
  #reloads = 0;
  /** By id; see `#take`. */
  #sockets = new Map();
  #crashedAt = [];
  /** How the last server crashed. */
  #crash;
  #killsBefore = 0;
  #hasRun = false;
  /** The signal that a person or a service manager sent. */
  #asked;

  constructor(program, cannotRun, given) {
    this.#program = program;
    this.#cannotRun = cannotRun;
    this.#limits = given;
  }

  async run() {
    // A terminal that is gone takes no output, which must not end the service.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
    for (const name of stopSignals) process.on(name, () => this.#stop(name));
    process.on('SIGUSR2', () => void this.#begin());
    process.on('SIGHUP', () => this.#current?.child.kill('SIGHUP'));
    await this.#start();
    await new Promise(() => {});
  }

  #stop(name) {
    this.#asked ??= name;
    this.#next?.child?.kill('SIGKILL'); // it has taken over nothing yet
    if (this.#current) this.#current.child.kill(name);
    else leave({ code: 0, signal: null });
  }

  /** The first server, or another one after a crash. `endedBy`: how the one before ended, if it could not write that down itself. */
  async #start(endedBy) {
    const command = await this.#program({ isNext: false }).catch((error) => this.#cannotRun(error.message));
    if (this.#asked) return leave({ code: 0, signal: null });
    this.#current = this.#launch(command, {});
    this.#current.endedBy = endedBy;
    this.#current.reload = this.#reload;
  }

  #launch({ node, argv0, argv, env }, more) {
    this.#killsBefore = memoryKills();
    // What the server starts must not report to the service manager in its name.
    const { NOTIFY_SOCKET: _, ...ownEnv } = env;
    const child = spawn(node, argv, {
      argv0,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...ownEnv, QUARTERDECK_CHANNEL: channelVersion, ...more },
    });
    const server = { child, isReady: false, isWaiting: false, isLeaving: false, left: {}, longestWaitMs: 0 };
    child.on('error', (error) => {
      // Otherwise it is a message for a server that has ended.
      if (child.pid === undefined) this.#onNoProcess(server, `${node} cannot be run (${error.code ?? error.message})`);
    });
    child.on('message', (message, handle) => this.#onMessage(server, message, handle));
    child.once('exit', (code, signal) => this.#onExit(server, { code, signal }));
    return server;
  }

  #onNoProcess(server, why) {
    if (server === this.#next) this.#callOff(why);
    else this.#cannotRun(`${why}; delete node_modules and start again`);
  }

  #onMessage(server, message, handle) {
    if (message.type === 'doing') server.doing = message.what;
    else if (message.type === 'failed') server.why = message.why;
    else if (message.type === 'waiting') this.#onWaiting(server, message.build);
    else if (message.type === 'ready') this.#onReady(server, message.about);
    else if (message.type === 'left') server.left[message.name] = message.value;
    else if (message.type === 'reload') void this.#begin();
    else this.#onSocket(server, message, handle);
  }

  /** `listening` on a new socket, `accepting` on one of the server before, `paused` for the next server, or `closed`. */
  #onSocket(server, { type, id, at }, handle) {
    const known = this.#sockets.get(id);
    if (type === 'listening') {
      known?.handle.close();
      this.#sockets.set(id, { at, handle, by: server, pausedAt: undefined });
    } else if (!known) return;
    else if (type === 'accepting') {
      if (known.pausedAt !== undefined) server.longestWaitMs = Math.max(server.longestWaitMs, performance.now() - known.pausedAt);
      Object.assign(known, { by: server, pausedAt: undefined });
      this.#tellReplaced(server);
    } else if (type === 'paused') known.pausedAt = performance.now();
    else if (type === 'closed') this.#close(id);
  }

  #close(id) {
    this.#sockets.get(id).handle.close();
    this.#sockets.delete(id);
  }

  /** It has loaded its program and checked its settings. It may go on as soon as no other server is on its data directory. */
  #onWaiting(server, build) {
    server.isWaiting = true;
    server.build = build;
    if (server === this.#current) return this.#goOn(server);
    if (server !== this.#next) return;
    clearTimeout(server.timer);
    const leaving = this.#current;
    if (!leaving) return this.#promote();
    leaving.isLeaving = true;
    leaving.child.send({ type: 'leave' }, () => {});
    leaving.timer = setTimeout(() => leaving.child.kill('SIGKILL'), this.#limits.leaveMs).unref();
  }

  #goOn(server) {
    for (const [id, { at, handle }] of this.#sockets) server.child.send({ type: 'socket', id, at }, handle, () => {});
    server.child.send({ type: 'go on', left: server.inherited ?? {}, endedBy: server.endedBy }, () => {});
  }

  #promote() {
    this.#current = this.#next;
    this.#current.reload = this.#reload;
    this.#next = undefined;
    this.#goOn(this.#current);
  }

  #onReady(server, about) {
    server.isReady = true;
    server.about = about;
    if (!this.#hasRun) notifyServiceManager();
    this.#hasRun = true;
    this.#tellReplaced(server);
    setTimeout(() => {
      if (server !== this.#current) return;
      for (const [id, { by }] of this.#sockets) if (by !== server) this.#close(id);
      this.#tellReplaced(server);
    }, this.#limits.unclaimedMs).unref();
  }

  /** SIGUSR2. */
  async #begin() {
    if (this.#asked) return;
    if (this.#reload) return void say('a reload is under way already');
    this.#reload = { number: ++this.#reloads, from: this.#current?.isReady ? this.#current.build : undefined };
    // What starts now is the program on disk.
    if (!this.#current?.isReady) {
      if (this.#current) this.#current.reload = this.#reload;
      return void say('reload: the server is starting, with the program that is on disk now');
    }
    say(`reload: ${this.#current.build} goes on until the program that is on disk now is ready`);
    const next = {};
    this.#next = next;
    const addresses = [...this.#sockets.values()].map(({ at }) => at);
    const before = JSON.stringify({ ...this.#current.about, addresses });
    let command;
    try {
      command = await this.#program({ isNext: true });
    } catch (error) {
      return this.#callOff(error.message);
    }
    if (this.#asked) return;
    const starting = this.#launch(command, { QUARTERDECK_BEFORE: before });
    starting.endedBy = next.endedBy;
    this.#next = starting;
    starting.timer = setTimeout(() => {
      starting.why = `it was not ready within ${this.#limits.loadMs / 1000} s${starting.doing ? `, and was still ${starting.doing}` : ''}`;
      starting.child.kill('SIGKILL');
    }, this.#limits.loadMs).unref();
  }

  /** The next server is gone, or could not be started. */
  #callOff(why) {
    clearTimeout(this.#next.timer);
    this.#next = undefined;
    if (this.#asked) return;
    if (this.#current?.isLeaving) return void say(`the next server is gone (${why}); another one follows`);
    const goesOn = this.#current ? `${this.#current.build} goes on` : 'the server before has crashed meanwhile';
    this.#tell(this.#current, false, `the reload was called off: ${why}; ${goesOn}`);
    if (!this.#current) this.#restart();
  }

  /** Once each socket is in use again the longest wait is known. */
  #tellReplaced(server) {
    if (!server.isReady || !this.#reload || server.reload !== this.#reload) return;
    if ([...this.#sockets.values()].some(({ by }) => by !== server)) return;
    const { from } = this.#reload;
    const how = from === undefined ? `${server.build} has started` : `${from} was replaced by ${server.build}`;
    this.#tell(server, true, `reload: ${how}; no connection waited longer than ${seconds(server.longestWaitMs)} s`);
  }

  #tell(server, isDone, sentence) {
    say(sentence);
    server?.child.send({ type: 'reloaded', number: this.#reload.number, isDone, sentence }, () => {});
    this.#reload = undefined;
  }

  #onExit(server, ended) {
    if (server === this.#next) {
      const how = ended.signal ?? `exit code ${ended.code}`;
      return this.#callOff(server.why ?? `the next server ended with ${how}; what it said is on its standard error`);
    }
    if (server !== this.#current) return;
    clearTimeout(server.timer);
    this.#current = undefined;
    if (this.#asked) return leave(ended);
    for (const socket of this.#sockets.values()) socket.pausedAt ??= performance.now();
    if (server.isLeaving && ended.code === 0) {
      if (!this.#next) return void this.#start();
      this.#next.inherited = server.left;
    } else {
      const endedBy = nameEnd(ended.signal, memoryKills() > this.#killsBefore);
      this.#crash = { endedBy, how: endedBy ?? `exit code ${ended.code}`, code: ended.code || 1 };
      if (!this.#next) return this.#isCrash(server, ended) ? this.#restart() : leave(ended);
      say(`the server ended (${this.#crash.how}) while it was being replaced; the next one goes on`);
      this.#next.endedBy = endedBy;
    }
    if (this.#next.isWaiting) this.#promote();
  }

  /** An exception before any server was ready would come again: the operator reads it once, not five times. */
  #isCrash({ isReady }, { code, signal }) {
    if (signal !== null) return true;
    return this.#hasRun && (code === 1 || (!isReady && transientExitCodes.includes(code)));
  }

  #restart() {
    const { endedBy, how, code } = this.#crash;
    const now = performance.now();
    this.#crashedAt.push(now);
    while (now - this.#crashedAt[0] > crashLimit.withinMs) this.#crashedAt.shift();
    if (this.#crashedAt.length >= crashLimit.count) {
      say(`the server crashed ${crashLimit.count} times within a minute, last with ${how}; not starting it again`);
      leave({ code, signal: null });
    }
    const pauseMs = Math.min(backoff.firstMs * 2 ** (this.#crashedAt.length - 1), backoff.maxMs);
    say(`the server crashed (${how}); starting it again in ${pauseMs / 1000} s`);
    setTimeout(() => void this.#start(endedBy), pauseMs);
  }
}

/** A full heap aborts; the kernel kills for memory with the signal that people kill with, and counts it. */
function nameEnd(signal, isKilledForMemory) {
  if (signal === null) return undefined;
  if (signal === 'SIGKILL' && isKilledForMemory) return 'SIGKILL, for want of memory';
  return signal === 'SIGABRT' ? 'SIGABRT, as a full JavaScript heap does' : signal;
}

/** How many processes of our cgroup the kernel has killed for memory; 0 where it does not say. */
function memoryKills() {
  try {
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join('/sys/fs/cgroup', own, 'memory.events'), 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Below systemd: units that need the server may start now. Node cannot send on a datagram socket of the file system itself. */
function notifyServiceManager() {
  if (process.env.NOTIFY_SOCKET) spawn('systemd-notify', ['--ready'], { stdio: 'ignore' }).on('error', () => {});
}

const terminals = [0, 1, 2].filter((fd) => isatty(fd));

/** Node 20 sets the terminal back when it exits, and crashes if that is gone. */
function forgetTerminal() {
  for (const fd of terminals) {
    if (isatty(fd)) continue;
    closeSync(fd);
    openSync('/dev/null', 'r+'); // the lowest free descriptor: this one
  }
}

/** As the server did. The kernel gives process 1 of a container no signal of its own: there the exit code says it. */
function leave({ code, signal }) {
  for (const name of stopSignals) process.removeAllListeners(name);
  forgetTerminal();
  if (signal) process.kill(process.pid, signal);
  process.exit(code ?? 128 + constants.signals[signal]);
}
