import type { Page } from 'playwright-core';
import { at, figure } from '../clusters/figure.ts';
import { type MeasuredConsole, tellLoad } from './measured-console.ts';
import { paintTime } from './paint-clock.ts';

const openings = 12;
const filterings = 12;

/** The list of a thousand monitors: opened from Home with nothing remembered, and filtered. */
export async function measureMonitors({ page: newPage, screen, owner }: MeasuredConsole): Promise<void> {
  tellLoad();
  await tellServer(owner);
  const opened: number[] = [];
  let page: Page | undefined;
  for (let n = -1; n < openings; n++) {
    await page?.context().close();
    page = await newPage();
    await page.goto(screen('/'));
    await page.locator('.live.live').waitFor();
    await page.waitForTimeout(500);
    const tookMs = await openList(page);
    if (n >= 0) opened.push(tookMs);
  }
  const p95 = at(opened, 0.95);
  figure('1,000 monitors, from the click to the painted list: p50', at(opened, 0.5), 'ms');
  figure('  p95', p95, 'ms', '≤ 500', p95 <= 500);

  const filtered: number[] = [];
  const field = page!.getByLabel('Name contains');
  for (let n = 0; n < filterings; n++) {
    await field.focus();
    filtered.push(
      await paintTime(page!, { selector: 'tbody tr:first-of-type th', text: String((n % 9) + 1) }, () =>
        page!.keyboard.press(String((n % 9) + 1)),
      ),
    );
    filtered.push(await paintTime(page!, { selector: 'table[aria-rowcount="1001"]' }, () => page!.keyboard.press('Backspace')));
    filtered.push(await paintTime(page!, { selector: '.buttons [aria-pressed=true]', text: 'paused' }, () => press(page!, 'paused')));
    filtered.push(await paintTime(page!, { selector: '.buttons [aria-pressed=true]', text: 'All' }, () => press(page!, 'All')));
  }
  const slow = at(filtered, 0.95);
  figure(`filtered, by name and by state, ${filtered.length} times: p50`, at(filtered, 0.5), 'ms');
  figure('  p95', slow, 'ms', '≤ 100', slow <= 100);
  await page!.context().close();
}

const press = (page: Page, name: string) => page.locator('search .buttons button', { hasText: name }).click();

const openList = (page: Page) =>
  paintTime(page, { selector: 'table[aria-rowcount="1001"] tbody tr .day-bar' }, () =>
    page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Monitors' }).click(),
  );

/** What of it is the server's: time until the whole answer is there, and its size. */
async function tellServer({ get }: MeasuredConsole['owner']) {
  const times: number[] = [];
  let bytes = 0;
  for (let n = -3; n < 20; n++) {
    const sent = performance.now();
    const { body } = await get('/uptime/summary');
    if (n >= 0) times.push(performance.now() - sent);
    bytes = JSON.stringify(body).length;
  }
  figure('GET /uptime/summary of 1,000 monitors, over HTTP: p50', at(times, 0.5), 'ms');
  figure('  p95', at(times, 0.95), 'ms');
  figure('  its size without a coding', bytes / 1024, 'KiB');
}
