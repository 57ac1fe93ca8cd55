import { Socket } from 'node:net';
import pg from 'pg';
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { type Sql, sql, statement } from './sql.ts';

export type Connection = Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl' | 'connectionString'>;

/** The database cannot be asked right now. Operations answer 502 or 503 with it, as their area says. */
export class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super('the database cannot be reached', { cause });
    this.name = 'DatabaseAway';
  }
}

/** A connection to speak SQL on: inside `write`, one transaction. Statements run in the order in which they are given, and those
 *  that need nothing of each other's answers are given together, in a `Promise.all`. */
export interface Tx {
  query(piece: Sql): Promise<{ rows: Record<string, unknown>[]; rowCount: number }>;
  /** Tests hold every row against its schema; in production the schema only gives the static type. */
  readonly checksRows: boolean;
  /** Runs once COMMIT has been answered, in order; never when it rolls back. */
  afterCommit(act: () => void): void;
  /** Marks a channel; who hears it, in whatever process, is told once COMMIT has been answered. A hint: see jobs/wake.ts. */
  wake(channel: string): void;
}

export interface Db {
  /** Statements that need no transaction of their own. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Told of every channel that a transaction marked, once it has committed. */
  onWake(act: (channel: string) => void): void;
  /** Free, idle and waiting, for the metrics. */
  pool: pg.Pool;
  end(): Promise<void>;
}

export interface DbOptions {
  connection: Connection;
  max?: number;
  checkRows?: boolean;
  /** A connection that was lost while nobody used it, or somebody who failed at hearing of a commit. */
  onError?: (error: Error) => void;
  /** PostgreSQL settings of these connections alone. */
  settings?: Record<string, string>;
}

const limits = {
  connectionTimeoutMillis: 2_000,
  statement_timeout: 9_000,
  query_timeout: 10_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 15_000,
};

export function openDb(options: DbOptions): Db {
  const pool = new pg.Pool({
    ...options.connection,
    ...limits,
    max: options.max ?? 8,
    idleTimeoutMillis: 60_000,
    pipeline: true,
    stream: gatheringSocket,
    types,
    options: startupOptions(options.settings),
    application_name: 'quarterdeck',
  });
  const checksRows = options.checkRows ?? false;
  let ending = false; // from then on a connection that the server ends first is no news
  pool.on('error', (error) => ending || options.onError?.(error));
  // The pool listens to idle connections only. One that dies in use fails its query, and would also end the process unheard.
  pool.on('connect', (client) => client.on('error', () => {}));
  const wakers: ((channel: string) => void)[] = [];

  const acquire = async () => {
    try {
      return await pool.connect();
    } catch (error) {
      throw away(error) ?? error;
    }
  };

  const read: Db['read'] = async (work) => {
    const client = await acquire();
    const noted = notes(checksRows);
    let broken: Error | undefined;
    let result: Awaited<ReturnType<typeof work>>;
    try {
      result = await within(client, noted, work);
    } catch (error) {
      broken = away(error);
      throw broken ?? error;
    } finally {
      client.release(broken);
    }
    tellCommitted(noted);
    return result;
  };

  const once: Db['write'] = async (work) => {
    const client = await acquire();
    const noted = notes(checksRows);
    let broken: Error | undefined;
    let result: Awaited<ReturnType<typeof work>>;
    try {
      // Not waited for: the first statement travels with it, and what keeps it from beginning keeps that from running.
      const begun = client.query('begin');
      begun.catch(() => {});
      result = await within(client, noted, work);
      await begun;
      // After a failed statement that somebody caught, PostgreSQL answers COMMIT with ROLLBACK, and that is no error to the driver.
      const { command } = await client.query('commit');
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back because one of its statements had failed');
    } catch (error) {
      broken = away(error);
      if (!broken) await client.query('rollback').catch((e: Error) => (broken = e));
      throw away(error) ?? error;
    } finally {
      client.release(broken);
    }
    tellCommitted(noted);
    return result;
  };

  /** What is done is done: whoever fails at hearing of it cannot make it look undone, nor keep it from the others. */
  const tellCommitted = ({ after, marked }: Notes) => {
    const tell = [...after, ...[...marked].flatMap((channel) => wakers.map((waken) => () => waken(channel)))];
    for (const act of tell) {
      try {
        act();
      } catch (error) {
        options.onError?.(new Error('somebody who was to hear of a committed transaction failed', { cause: error }));
      }
    }
  };

  // Everything a unit of work does is inside its transaction, so a deadlock's victim may simply be run again. So may one that
  // lost a race for a name, or refers to what was deleted this moment: the second time it sees what the winner did.
  const write: Db['write'] = async (work) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(work);
      } catch (error) {
        if (attempt >= 3 || !again.has(codeOf(error))) throw error;
      }
    }
  };

  const end = () => {
    ending = true;
    return pool.end();
  };
  return { read, write, onWake: (act) => wakers.push(act), pool, end };
}

/** What is written in one turn of the event loop leaves together: statements that do not wait for each other are one round trip. */
function gatheringSocket(): Socket {
  const socket = new Socket();
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let gathering = false;
  socket.write = (...args: unknown[]) => {
    if (!gathering) {
      gathering = true;
      socket.cork();
      process.nextTick(() => {
        gathering = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
  return socket;
}

const startupOptions = (settings: Record<string, string> = {}) =>
  ['TimeZone=UTC', ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)].map((setting) => `-c ${setting}`).join(' ');

/** Does the work on this connection. What part of it is still under way when another has failed cannot reach whoever has it next. */
async function within<T>(client: pg.ClientBase, noted: Notes, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = onClient(client, noted);
  let over = false;
  let failure: unknown;
  try {
    return await work({
      ...tx,
      query: async (piece) => {
        if (over) throw new Error('a statement came after the end of its transaction');
        try {
          return await tx.query(piece);
        } catch (error) {
          // Those behind one that failed fail because of it: whichever of them is heard first, that one is the reason.
          failure ??= error;
          throw codeOf(error) === '25P02' ? failure : error;
        }
      },
    });
  } finally {
    over = true;
  }
}

/** What hangs on a transaction's COMMIT. */
interface Notes {
  after: (() => void)[];
  marked: Set<string>;
  checksRows: boolean;
}
const notes = (checksRows: boolean): Notes => ({ after: [], marked: new Set(), checksRows });

function onClient(client: pg.ClientBase, { after, marked, checksRows }: Notes): Tx {
  return {
    checksRows,
    query: async (piece) => {
      const result = await client.query(statement(piece));
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    },
    afterCommit: (act) => after.push(act),
    wake: (channel) => marked.add(channel),
  };
}

/** Speaks on a connection whose transaction is the caller's own, such as a backup's snapshot; what hangs on COMMIT never runs. */
export const txOn = (client: pg.Client): Tx => onClient(client, notes(false));

const validators = new WeakMap<TSchema, Validator>();

/** `rows(tx, TokenRow)\`select …\``: the rows, typed by a schema that tests hold every row against. */
export const rows =
  <S extends TSchema>(tx: Tx, schema: S) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<Static<S>[]> => {
    const result = await tx.query(sql(strings, ...values));
    if (tx.checksRows) for (const found of result.rows) check(schema, found, strings);
    return result.rows as Static<S>[];
  };

/** The first row, or undefined. */
export const row =
  <S extends TSchema>(tx: Tx, schema: S) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<Static<S> | undefined> =>
    (await rows(tx, schema)(strings, ...values))[0];

/** A statement for its effect: how many rows it touched. */
export const run =
  (tx: Tx) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<number> =>
    (await tx.query(sql(strings, ...values))).rowCount;

function check(schema: TSchema, found: Record<string, unknown>, strings: TemplateStringsArray) {
  let validator = validators.get(schema);
  if (!validator) {
    validator = Compile({ ...schema, additionalProperties: false });
    validators.set(schema, validator);
  }
  if (!validator.Check(found))
    throw new Error(`a row is not what its schema says: ${JSON.stringify(validator.Errors(found))} in ${strings.join('?')}`);
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** Connection lost, refused, timed out, shutting down or out of slots: the caller may try again later. */
function away(error: unknown): DatabaseAway | undefined {
  if (error instanceof DatabaseAway) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : '';
  const lost =
    /^(08|57P|53)/.test(code) ||
    [
      '57014',
      '55P03',
      '25P03',
      'ECONNREFUSED',
      'ECONNRESET',
      'ENOENT',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      'ENOTFOUND',
      'EAI_AGAIN',
    ].includes(code) ||
    /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|not queryable/.test(
      message,
    );
  return lost ? new DatabaseAway(error) : undefined;
}

/** For connections outside the pool. */
export const isAway = (error: unknown): boolean => away(error) !== undefined;

/** Deadlock, serialization failure, unique and foreign key violations. */
const again = new Set(['40P01', '40001', '23505', '23503']);

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === '23505';

const iso = (text: string) => {
  // '2026-11-15 01:32:38.12+00' → '2026-11-15T01:32:38.120Z': one form in SQL, rows and JSON, and its text order is time order.
  const dot = text.indexOf('.');
  const fraction = dot < 0 ? '' : text.slice(dot + 1, text.indexOf('+', dot));
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
};

const integer = (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the integer ${text} does not fit a JavaScript number`);
  return value;
};

const parsers: Record<number, (text: string) => unknown> = { 20: integer, 1184: iso, 1082: (text) => text };
/** Integers as numbers, times as ISO text: for connections outside the pool that read rows. */
export const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers[oid] ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};
