import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../../src/kernel/db/index.ts';
import { type Quarterdeck, quarterdeck } from '../index.ts';
import { allTasks, urlOf } from '../postgres.ts';
import { eventually, type ProcessOptions, postgresOf, type ServerProcess, serverProcess } from '../process.ts';
import type { Chance } from './chance.ts';

export { type Chance, makeChance } from './chance.ts';

// Whole servers, killed without a word and started again. An area brings the load, and compares what was acknowledged with what it finds.
// A server is killed by time (`kill`, after `untilAnyMoment`), or kills itself at a named point (`start(n, point)`, then `diesWithin`).

/** Where a server kills itself: the environment that names the point, and what understands it. */
export interface FaultPoint {
  env: Record<string, string>;
  preload?: string;
}

/** Before or after the nth statement that touches a schema: `before:14`. See die-at.ts. */
export const atStatement = (schema: string, point: string): FaultPoint => ({
  env: { QD_DIE_AT: `${schema}:${point}`, QD_TASKS: allTasks.map(({ name }) => name).join(' ') },
  preload: import.meta.resolve('./die-at.ts'),
});

/** At the first statement that holds this text: `before:…`, `after:…`, `committed:…`. See die-at-text.ts. */
export const atText = (point: string): FaultPoint => ({
  env: { QD_DIE_AT_TEXT: point },
  preload: import.meta.resolve('./die-at-text.ts'),
});

export interface KillOptions extends Pick<ProcessOptions, 'dir' | 'nodeFlags' | 'program'> {
  dataDir: string;
  count?: number;
  /** Of each server, by its number. */
  env?: (n: number) => Record<string, string>;
  /** One database for all of them. Without it the one server has its own, in `dataDir`. */
  connection?: Connection;
}

export class KillableServers {
  readonly #t: TestContext;
  readonly #options: KillOptions;
  /** Those that run, by number. */
  readonly #processes: (ServerProcess | undefined)[] = [];
  readonly #successors: (Promise<Quarterdeck> | undefined)[] = [];

  constructor(t: TestContext, options: KillOptions) {
    this.#t = t;
    this.#options = options;
  }

  start(n = 0, point?: FaultPoint): ServerProcess {
    const { dir, dataDir, connection, nodeFlags = [], program } = this.#options;
    const server = serverProcess(this.#t, {
      dir,
      dataDir,
      ...(program ? { program } : {}),
      nodeFlags,
      ...(point?.preload ? { preload: point.preload } : {}),
      env: {
        QUARTERDECK_LOG_LEVEL: process.env['QUARTERDECK_TEST_LOG'] ?? 'silent',
        ...(connection ? { QUARTERDECK_DATABASE_URL: urlOf(connection) } : {}),
        ...this.#options.env?.(n),
        ...point?.env,
      },
    });
    this.#processes[n] = server;
    void server.exited.then(() => {
      if (this.#processes[n] === server) this.#processes[n] = undefined;
    });
    return server;
  }

  /** Starts those that do not run, until they are ready. One that is to kill itself may do so before it is. */
  async startMissing(point?: FaultPoint): Promise<void> {
    for (let n = 0; n < (this.#options.count ?? 1); n++) if (this.isDead(n)) this.start(n, point);
    await Promise.all(this.#processes.map((server) => (point ? server?.ready.catch(() => undefined) : server?.ready)));
  }

  /** A server in this process in place of a dead one: it does the same, loads nothing, and cannot be killed. */
  takeOver(n = 0): Promise<Quarterdeck> {
    const { dataDir, connection, env } = this.#options;
    const successor = quarterdeck(this.#t, { connection: connection!, dataDir, ...(env ? { env: env(n) } : {}) });
    this.#successors[n] = successor;
    return successor;
  }

  isDead(n = 0): boolean {
    return this.#processes[n] === undefined && this.#successors[n] === undefined;
  }

  /** Once it is ready; undefined while it is dead. */
  async url(n = 0): Promise<string | undefined> {
    const successor = await this.#successors[n];
    return successor?.url ?? (await this.#processes[n]?.ready.catch(() => undefined));
  }

  /** kill -9, if asked also of its own database in the middle of what it does. */
  async kill(n = 0, { withDatabase = false } = {}): Promise<void> {
    assert.equal(this.#successors[n], undefined, 'only a process of its own can be killed');
    const database = withDatabase && !this.#options.connection ? await postgresOf(this.#options.dataDir) : undefined;
    if (database) process.kill(database, 'SIGKILL');
    await this.#processes[n]?.killed();
    this.#processes[n] = undefined;
  }

  /** Until it has killed itself, `isOver` or the time has passed; it is gone afterwards. Whether it reached its point. */
  async diesWithin(withinMs: number, { n = 0, isOver }: { n?: number; isOver?: () => Promise<boolean> } = {}): Promise<boolean> {
    await eventually(async () => this.isDead(n) || (await isOver?.()), { withinMs }).catch((error) => {
      if (isOver) throw error; // it neither died nor came to an end
    });
    const hasDied = this.isDead(n);
    await this.kill(n);
    return hasDied;
  }
}

/** A moment that nobody has chosen: after so many further acknowledgements, and then anywhere within a time. */
export async function untilAnyMoment(chance: Chance, acknowledged: () => number, more: number, withinMs: number): Promise<void> {
  const enough = acknowledged() + more;
  await eventually(async () => acknowledged() >= enough, { withinMs: 60_000 });
  await sleep(chance.below(withinMs));
}

export function assertNoneLost(acknowledged: Iterable<string>, found: ReadonlySet<string>, where: string): void {
  assert.deepEqual(
    [...acknowledged].filter((id) => !found.has(id)),
    [],
    `acknowledged, and not ${where}`,
  );
}
