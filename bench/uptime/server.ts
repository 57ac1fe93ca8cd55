import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { connectRunning } from '../../src/kernel/postgres/connection.ts';
import { startServer } from '../../test/harness/process.ts';
import type { Caller } from '../../test/harness/request.ts';

export interface BenchServer {
  readonly url: string;
  readonly owner: Caller & { key: string };
  readonly database: pg.Client;
}

/** The whole program in a process of its own with its PostgreSQL, for as long as `use` takes. */
export async function withServer(env: Record<string, string>, use: (server: BenchServer) => Promise<void>): Promise<void> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, env: { QUARTERDECK_LOG_LEVEL: 'warn', ...env } });
  let database: pg.Client | undefined;
  try {
    const url = await server.ready;
    database = new pg.Client(await connectRunning(join(dir, 'data')));
    await database.connect();
    await use({ url, owner: await server.owner(), database });
  } finally {
    await database?.end();
    await server.stopped().catch(() => {});
    await end();
    if (server.stderr()) console.error(server.stderr().slice(-2_000));
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
export const good = async (answer: Promise<{ status: number; body: any }>): Promise<any> => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};
