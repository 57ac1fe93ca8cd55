import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { areas } from '../../src/areas/index.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { type Db, run } from '../../src/kernel/db/index.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { serve } from '../../src/serve.ts';
import { browser } from '../../test/harness/browser.ts';
import type { Quarterdeck } from '../../test/harness/index.ts';
import { caller } from '../../test/harness/request.ts';
import { signedIn } from '../../test/harness/visitor.ts';
import { at, figure } from '../clusters/figure.ts';
import { installPaintClock, paintTime } from './paint-clock.ts';

const tags = 10_000;
const messages = 100_000;
const times = 20;
const seenMs = 500;
const filteredMs = 100;

/** Long lists in a real browser: from a click or key until the rows are painted. */
export async function measureLists(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  const env = { QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_ROLES: 'api', QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: '127.0.0.1:0' };
  const { config } = readConfig(env, dir);
  const database = { connection: postgres.connection, direct: postgres.connection, embedded: true, stop: () => postgres.stop() };
  const running = await serve({ config, log: makeLog('silent'), areas, database });
  const closers: (() => unknown)[] = [];
  console.log(
    `${availableParallelism()} cores, shared by server, database and browser; load average before: ${loadavg()[0]!.toFixed(1)}\n`,
  );
  try {
    const { app } = running;
    const owner = caller(running.url, (await readFile(join(dataDir, 'owner.token'), 'utf8')).trim());
    await app.db.write((tx) => run(tx)`update identity.org set entitlements = '{email,uptime}'`);
    await owner.post('/registry/registries', { slug: 'bench' });
    await fill(app.db);
    const { id: userId } = (await owner.get('/me')).body;
    const url = running.url.replace('127.0.0.1', 'localhost');
    const chromium = await browser({ after: (close: () => unknown) => closers.push(close) } as unknown as TestContext);
    const context = await chromium.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    const visitor = await signedIn({ app, url: running.url } as unknown as Quarterdeck, userId);
    await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })));
    const page = await context.newPage();
    await installPaintClock(page);
    await page.goto(`${url}/o/default/registry/bench`);
    await measureTags(page);
    await page.goto(`${url}/o/default/email/domains`);
    await measureMessages(page);
  } finally {
    for (const close of closers) await close();
    await running.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function measureTags(page: Page) {
  const seen: number[] = [];
  const filtered: number[] = [];
  const further: number[] = [];
  for (let n = 0; n < times; n++) {
    seen.push(
      await paintTime(page, { selector: 'main a', text: 'v0.0.0' }, () =>
        page.getByRole('link', { name: 'team/app', exact: true }).click(),
      ),
    );
    const tag = `v${n % 10}.${50 + n}.7`;
    filtered.push(await paintTime(page, { selector: 'main td', text: tag }, () => page.getByLabel('Tag begins with').fill(tag)));
    await page.getByLabel('Tag begins with').fill('');
    await page.getByText(/^200 tags/).waitFor();
    further.push(
      await timed(
        () => page.evaluate('scrollTo(0, document.body.scrollHeight)'),
        () => page.getByText(/^1,200 tags/).waitFor(),
      ),
    );
    await page.getByRole('navigation', { name: 'Where this is' }).getByText('bench').click();
    await page.reload(); // nothing is remembered
  }
  tell(`${tags.toLocaleString('en')} tags: from the click to the first rows`, seen, seenMs);
  tell('  from a typed beginning to its rows', filtered, filteredMs);
  tell('  from the end of 200 to the next 1,000', further);
}

async function measureMessages(page: Page) {
  const seen: number[] = [];
  const filtered: number[] = [];
  const found: number[] = [];
  const first = page.getByRole('link', { name: `your order ${messages}`, exact: true });
  for (let n = 0; n < times; n++) {
    seen.push(
      await paintTime(page, { selector: 'main a', text: `your order ${messages}` }, () =>
        page.getByRole('link', { name: 'Messages', exact: true }).click(),
      ),
    );
    filtered.push(
      // The third one that bounced is far below the first rows of all.
      await paintTime(page, { selector: 'main a', text: `your order ${messages - 149}` }, () =>
        page.getByLabel('State').selectOption('bounced'),
      ),
    );
    await page.getByLabel('State').selectOption('');
    await first.waitFor();
    found.push(
      await paintTime(page, { selector: 'main td', text: `b${1_000 + n}@example.com` }, () =>
        page.getByLabel('To this address').fill(`b${1_000 + n}@example.com`),
      ),
    );
    await page.getByRole('link', { name: 'Mail domains', exact: true }).click();
    await page.reload();
    await page.getByText('No domain yet').waitFor();
  }
  tell(`${messages.toLocaleString('en')} messages: from the click to the first rows`, seen, seenMs);
  tell('  from a chosen state to its rows', filtered, filteredMs);
  tell('  from an address to its message', found, filteredMs);
}

/** With the driver's own time. */
async function timed(act: () => Promise<unknown>, seen: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  await seen();
  return performance.now() - began;
}

function tell(what: string, took: readonly number[], most?: number) {
  figure(`${what}: p50`, at(took, 0.5), 'ms');
  const p95 = at(took, 0.95);
  if (most === undefined) figure(`${what}: p95`, p95, 'ms');
  else figure(`${what}: p95`, p95, 'ms', `≤ ${most}`, p95 <= most);
}

/** Messages in one transaction: more would meet the time that a statement has. */
const portion = 10_000;

async function fill(db: Db) {
  await db.write(async (tx) => {
    await run(tx)`
      insert into registry.repository (org_id, registry_id, name, created_at, size_bytes, tag_count)
      select org_id, id, 'team/app', kernel.now(), 1000000, ${tags} from registry.registry`;
    await run(tx)`
      with clock as materialized (select kernel.now() as now)
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, weight, content_bytes, created_at)
      select r.org_id, r.id, 'sha256:' || lpad(to_hex(n), 64, '0'), 'application/vnd.oci.image.manifest.v1+json', '{}', 2, 2, 5000000 + n, clock.now
        from clock, registry.repository r, generate_series(1, ${tags / 10}) n`;
    await run(tx)`
      with clock as materialized (select kernel.now() as now)
      insert into registry.tag (repository_id, name, manifest_id, updated_at)
      select m.repository_id, format('v%s.%s.%s', n / 1000, n / 10 % 100, n % 10), m.id, clock.now - n * interval '1 hour'
        from clock, generate_series(0, ${tags - 1}) n join registry.manifest m on m.digest = 'sha256:' || lpad(to_hex(1 + n % ${tags / 10}), 64, '0')`;
  });
  for (let from = 1; from <= messages; from += portion)
    await db.write(
      (tx) => run(tx)`
      with clock as materialized (select kernel.now() as now), made as (
        insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, subject,
                                   message_id, body_key, body_offset, body_bytes, header_bytes, body_hash)
        select o.id, 'msg_' || lpad(n::text, 26, '0'), 'send', case when n % 50 = 1 then 'bounced' else 'delivered' end, clock.now, clock.now, 'http',
               'dom_1', 'a@example.com', array['b' || n || '@example.com'], '{}', 'your order ' || n, '<1@example.com>', 'mail/x', 0, 5, 0, ''
          from clock, identity.org o, generate_series(${from}::int, ${from + portion - 1}::int) n
        returning id, org_id, recipients, state, state_at)
      insert into email.recipient (message_id, org_id, address, folded, state, state_at, run_at, done_at)
      select id, org_id, recipients[1], recipients[1], state, state_at, state_at, state_at from made`,
    );
  await db.read((tx) => run(tx)`vacuum analyze`);
}
