import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { browser } from './browser.ts';
import type { Quarterdeck } from './index.ts';
import { signedIn } from './visitor.ts';

/** Where screenshots go, if somebody wants to look at them. */
export const pictures = process.env['QUARTERDECK_PICTURES'];

/** The order spares a change of the width. */
const looks = [
  [360, 'dark'],
  [360, 'light'],
  [1280, 'light'],
  [1280, 'dark'],
] as const;

/** The version that the builder would bring. It stays in a page: brought anew, V8 compiles it anew, which is much of what a look costs. */
const { source } = createRequire(import.meta.resolve('@axe-core/playwright'))('axe-core') as { source: string };
const axeSource = `if (!window.axe) { ${source} }`;

/** What keeps people with a screen reader, a keyboard or weak eyes out. Both schemes and both widths are asked, each once. */
async function barriersOn(page: Page): Promise<string[]> {
  const axe = new AxeBuilder({ page, axeSource })
    .setLegacyMode()
    .options({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
  const { violations } = await axe.analyze();
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(' | ')}`);
}

/** Cells with words in them that leave room for few letters a line. */
const crammedCells = `[...document.querySelectorAll('main :is(td, th), dialog :is(td, th)')]
  .filter((cell) => cell.innerText.trim().length > 6 && cell.checkVisibility())
  .filter((cell) => {
    const { paddingLeft, paddingRight } = getComputedStyle(cell);
    return cell.clientWidth > 1 && cell.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) < 40;
  })
  .map((cell) => cell.innerText.slice(0, 40))`;

/** The clock jumps while the page is looked at again. */
export const wake = `(() => {
  const { now } = Date;
  Date.now = () => now() + 60_000;
  document.dispatchEvent(new Event('visibilitychange'));
  Date.now = now;
})()`;

export interface ConsolePage {
  page: Page;
  /** What the browser complained of, and requests to other places: empty in a console that is well. */
  complaints: string[];
  /** Lets go what the browser noted of a reading that was under way while its thing was deleted. */
  forgiveGone(path: string): void;
  /** Opens a screen below the organization and waits for its title. */
  open(path: string, title: string | RegExp): Promise<void>;
  /** Fits, in both widths and schemes; with QUARTERDECK_PICTURES set, pictures are kept. */
  fits(name: string): Promise<void>;
}

/** Notes what the browser complains of, policies included, and each request to another place. */
export function watchPage(page: Page, url: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(`${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => request.url().startsWith(url) || request.url().startsWith('data:') || complaints.push(request.url()));
  return complaints;
}

/** A browser in which a member is signed in, at the console. Every complaint of the browser fails the test. */
export async function consoleOf(t: TestContext, qd: Quarterdeck, userId = qd.owner.userId): Promise<ConsolePage> {
  const url = qd.url.replace('127.0.0.1', 'localhost');
  const visitor = await signedIn(qd, userId);
  const chromium = await browser(t);
  // The browser calls its locale en-US@posix, which is no language tag.
  const context = await chromium.newContext({ locale: 'en-GB', timezoneId: 'Europe/Paris', viewport: { width: 1280, height: 800 } });
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })));
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = watchPage(page, url);
  // A test's server stops before its browsers: their open pages then miss it.
  qd.stopping.addEventListener('abort', () => page.removeAllListeners());
  t.after(() => assert.deepEqual(complaints, []));
  return {
    page,
    complaints,
    forgiveGone: (path) => {
      for (let at = complaints.length - 1; at >= 0; at--)
        if (/ 404 /.test(complaints[at]!) && complaints[at]!.includes(path)) complaints.splice(at, 1);
    },
    open: async (path, title) => {
      await page.goto(`${url}/o/${qd.owner.orgSlug}${path}`);
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
    },
    fits: async (name) => {
      for (const [width, colorScheme] of looks) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        if (pictures) await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true });
        const scrollWidth = Number(await page.evaluate('document.documentElement.scrollWidth'));
        assert.ok(scrollWidth <= width, `${name} is ${scrollWidth} px wide on a screen of ${width} px`);
        assert.deepEqual(await page.evaluate(crammedCells), [], `${name} breaks words letter by letter at ${width} px`);
        if ((width === 360) === (colorScheme === 'light'))
          assert.deepEqual(await barriersOn(page), [], `${name}, ${width} px, ${colorScheme}`);
      }
    },
  };
}
