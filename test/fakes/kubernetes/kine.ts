import { rmSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { kineFlags, parseFlags, refuse } from './flags.ts';
import { beginProgram } from './program.ts';

// A kine that keeps its rows where the real one does, in a table `kine` of the schema that its endpoint names, and speaks lines of JSON on its
// socket instead of etcd's protocol: only fake apiservers talk to it.

export interface KineRequest {
  id: number;
  op: 'read' | 'list' | 'write' | 'watch' | 'unwatch';
  /** A key; of lists and watches what keys begin with. */
  key?: string;
  /** null removes. */
  value?: string | null;
  /** The revision that it must have; 0: it must not be there. */
  expected?: number;
  /** A watch tells what came after this revision. */
  from?: number;
}

export interface KineRow {
  key: string;
  value: string;
  revision: number;
  isNew: boolean;
  isGone: boolean;
}

export interface KineAnswer {
  id: number;
  revision?: number;
  rows?: KineRow[];
  /** A write did not find what it expected; the row as it is, if it is there. */
  isConflict?: boolean;
  error?: string;
}

const flags = parseFlags(
  'kine',
  kineFlags,
  process.argv.slice(2).filter((flag) => !/^--?version$/.test(flag)),
);
const address = /^unix:\/\/(\/.+)$/.exec(flags.get('listen-address') ?? '')?.[1];
const server = net.createServer((socket) => serve(socket));
await beginProgram('kine', () => {
  server.close();
  if (address) rmSync(address, { force: true });
});
if (!address) refuse('the fake kine listens on a unix socket only: --listen-address unix:///…');
const endpoint = process.env.KINE_ENDPOINT ?? refuse('fake kine: KINE_ENDPOINT must be in the environment, where no process list shows it');
if (flags.get('endpoint') !== undefined) refuse('fake kine: the endpoint was given as an argument, where everybody can read its password');

const pool = openPool(endpoint, Number(flags.get('datastore-max-open-connections') ?? 3));
await pool
  .query(
    `create table if not exists kine (id bigserial primary key, name text not null, created integer not null default 0,
       deleted integer not null default 0, create_revision bigint, prev_revision bigint, lease integer, value bytea, old_value bytea);
     create index if not exists kine_name_id on kine (name, id desc)`,
  )
  .catch((error) => refuse(`level=fatal msg="building kine: ${error.message}"`));
rmSync(address, { force: true });
server.listen(address);

function openPool(text: string, most: number): pg.Pool {
  const url = new URL(text);
  const { host, ...settings } = Object.fromEntries(url.searchParams);
  const { sslmode: _, port, ...others } = settings;
  const made = new pg.Pool({
    host: host ?? url.hostname,
    port: Number(port ?? (url.port || 5432)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
    max: most > 0 ? most : 3,
    options: Object.entries(others)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  });
  made.on('error', () => {}); // PostgreSQL went away: the next statement says so
  return made;
}

const compacted = 'etcdserver: mvcc: required revision has been compacted';

/** Revisions before this one cannot be watched any more: a restored store has such a mark. */
async function compactRevision(): Promise<number> {
  const { rows } = await pool.query<{ at: string | null }>(`select max(prev_revision) as at from kine where name = 'compact_rev_key'`);
  return Number(rows[0]?.at ?? 0);
}

interface Watch {
  prefix: string;
  told: number;
  tell(rows: KineRow[]): void;
}
const watches = new Set<Watch>();

function serve(socket: Socket): void {
  const own = new Map<number, Watch>();
  const tell = (answer: KineAnswer) => socket.write(`${JSON.stringify(answer)}\n`);
  const lines = createInterface({ input: socket });
  lines.on('error', () => {}); // readline repeats the socket's errors: a killed apiserver must not end kine
  lines.on('line', async (line) => {
    const request = JSON.parse(line) as KineRequest;
    const { id, op, key = '', from = 0 } = request;
    if (op === 'watch') {
      if (from > 0 && from < (await compactRevision())) return tell({ id, error: compacted });
      const watch: Watch = { prefix: key, told: from, tell: (rows) => tell({ id, rows }) };
      own.set(id, watch);
      watches.add(watch);
      return void tellWatches();
    }
    if (op === 'unwatch') return void watches.delete(own.get(id)!);
    try {
      tell({ id, ...(op === 'write' ? await write(request) : await read(key, op === 'list')) });
    } catch (error) {
      tell({ id, error: (error as Error).message });
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const watch of own.values()) watches.delete(watch);
  });
}

interface Found {
  id: string;
  name: string;
  created: number;
  deleted: number;
  value: Buffer | null;
}
const shown = ({ id, name, created, deleted, value }: Found): KineRow => ({
  key: name,
  value: value?.toString() ?? '',
  revision: Number(id),
  isNew: created === 1,
  isGone: deleted === 1,
});
const columns = 'id, name, created, deleted, value';
const likeOf = (prefix: string) => `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`;

async function read(key: string, isList: boolean): Promise<Omit<KineAnswer, 'id'>> {
  const { rows } = await pool.query<Found>(
    `select * from (select distinct on (name) ${columns} from kine where name ${isList ? 'like' : '='} $1 order by name, id desc) k where deleted = 0`,
    [isList ? likeOf(key) : key],
  );
  const { rows: last } = await pool.query<{ id: string | null }>('select max(id) as id from kine');
  return { revision: Number(last[0]?.id ?? 0), rows: rows.map(shown) };
}

/** One after the other, whoever writes: rows become visible in the order of their revisions. */
async function write({ key, value, expected }: KineRequest): Promise<Omit<KineAnswer, 'id'>> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query('begin');
    await client.query(`lock table kine in share row exclusive mode`);
    const { rows } = await client.query<Found>(`select ${columns} from kine where name = $1 order by id desc limit 1`, [key]);
    const before = rows[0]?.deleted === 0 ? rows[0] : undefined;
    if (expected !== undefined && Number(before?.id ?? 0) !== expected) {
      await client.query('rollback');
      isBroken = false;
      return { isConflict: true, rows: before ? [shown(before)] : [] };
    }
    const { rows: made } = await client.query<Found>(
      `insert into kine (name, created, deleted, prev_revision, value, old_value) values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
      [
        key,
        before ? 0 : 1,
        value === null ? 1 : 0,
        before?.id ?? null,
        value === null ? before?.value : Buffer.from(value ?? ''),
        before?.value,
      ],
    );
    await client.query('commit');
    isBroken = false;
    void tellWatches();
    return { revision: Number(made[0]!.id), rows: made.map(shown) };
  } finally {
    client.release(isBroken); // an aborted transaction must not reach the next write
  }
}

let isTelling = false;
let isToldAgain = false;

/** What came since each watch was told last; also twice a second, for what another kine over the same schema wrote. */
async function tellWatches(): Promise<void> {
  isToldAgain = true;
  if (isTelling) return;
  isTelling = true;
  while (isToldAgain) {
    isToldAgain = false;
    await tellOnce().catch(() => {});
  }
  isTelling = false;
}

async function tellOnce(): Promise<void> {
  if (watches.size === 0) return;
  const asking = [...watches]; // one that comes meanwhile wants older rows
  const from = Math.min(...asking.map(({ told }) => told));
  const { rows } = await pool.query<Found>(`select ${columns} from kine where id > $1 order by id`, [from]);
  for (const watch of asking) {
    const news = rows.filter(({ id, name }) => Number(id) > watch.told && name.startsWith(watch.prefix)).map(shown);
    watch.told = Math.max(watch.told, Number(rows.at(-1)?.id ?? 0));
    if (news.length > 0) watch.tell(news);
  }
}
setInterval(() => void tellWatches(), 500);
