import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { launchBrowser } from '../../test/harness/browser.ts';
import { type Caller, caller } from '../../test/harness/request.ts';
import { installPaintClock } from './paint-clock.ts';
import type { Organization } from './server.ts';

export interface MeasuredConsole {
  owner: Caller;
  /** A page of a browser context of its own, in which a member of the organization is signed in. */
  page(): Promise<Page>;
  /** The address of a screen. */
  screen(path: string): string;
  stop(): Promise<void>;
}

/** A server in a process of its own with a day of checks of so many monitors, and a browser beside it. */
export async function measuredConsole(monitors: number): Promise<MeasuredConsole> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  let server: ChildProcess | undefined;
  let browser: Browser | undefined;
  const stop = async () => {
    await browser?.close();
    server?.kill('SIGKILL');
    await postgres.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    server = fork(fileURLToPath(new URL('./server.ts', import.meta.url)), [], { execArgv: ['--expose-gc'] });
    const { url } = await asked<{ url: string }>(server, { connection: postgres.connection, dataDir });
    const [organization] = await asked<Organization[]>(server, { people: { organizations: 1, members: 1, tokens: 1 } });
    await asked(server, { monitors });
    const { cookie } = await asked<{ cookie: string }>(server, { session: organization!.slug });
    // A passkey, and so the console, takes a name.
    const place = url.replace('127.0.0.1', 'localhost');
    browser = await launchBrowser();
    const chromium = browser;
    return {
      owner: caller(url, organization!.owner),
      screen: (path) => `${place}/o/${organization!.slug}${path}`,
      page: async () => {
        const context = await chromium.newContext({ locale: 'en-GB', timezoneId: 'Europe/Paris', viewport: { width: 1280, height: 800 } });
        await context.addCookies([{ name: 'qd', value: cookie, url: place }]);
        const page = await context.newPage();
        await installPaintClock(page);
        return page;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A message to a child, and its answer. */
export async function asked<T>(child: ChildProcess, message: object): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`a process ended with ${code}`)));
  ended.catch(() => {});
  child.send(message);
  const [answer] = await Promise.race([once(child, 'message'), ended]);
  return answer as T;
}

/** Every figure is of this machine at this moment. */
export const tellLoad = (): void =>
  console.log(`\n${availableParallelism()} cores, shared by server, database and browser; load average ${loadavg()[0]!.toFixed(1)}`);
