import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { browser } from '../../../../../test/harness/browser.ts';
import { demo } from '../demo.ts';
import { form, type House, house, incident, made, page as makePage, publish, service, shows, takeDatabase } from '../support.ts';

// Pictures for the documentation are rewritten with QUARTERDECK_UPDATE=1; every run takes them, and looks at the layout.
const images = join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'images');
const update = process.env.QUARTERDECK_UPDATE;

const sizes = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } };
const schemes = ['light', 'dark'] as const;

type Looks = { viewport?: { width: number; height: number }; colorScheme?: 'light' | 'dark' | null };

interface Window {
  tab: Page;
  /** What was asked for and complained of since the last visit began. */
  requests: string[];
  complaints: string[];
  /** A tab is turned from one size and scheme to another, since each further one is a process of the browser's. */
  visit(url: string, looks?: Looks): Promise<void>;
}

async function open(on: Browser, options: Parameters<Browser['newContext']>[0] = {}): Promise<Window> {
  const tab = await (await on.newContext(options)).newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  tab.on('request', (request) => requests.push(request.url()));
  tab.on('console', (message) => complaints.push(message.text()));
  tab.on('pageerror', (error) => complaints.push(error.message));
  const visit = async (url: string, { viewport = sizes.desktop, colorScheme = null }: Looks = {}) => {
    await tab.setViewportSize(viewport);
    await tab.emulateMedia({ colorScheme });
    requests.length = 0;
    complaints.length = 0;
    await tab.goto(url);
  };
  return { tab, requests, complaints, visit };
}

/** Rules of WCAG 2.2 A and AA, and good habits. axe needs scripts in its own frame, which our policy forbids the page and not the tool. */
async function accessible(tab: Page, what: string) {
  const { violations, passes } = await new AxeBuilder({ page: tab }).setLegacyMode().analyze();
  assert.ok(passes.length > 10, 'it looked at something');
  assert.deepEqual(
    violations.map((v) => `${what}: ${v.id} ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`),
    [],
  );
}

const largeLogo = Buffer.concat([Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64'), Buffer.alloc(4_000)]);

async function lookAtDemo(qd: House, on: Browser, { tab, requests, complaints, visit }: Window) {
  await demo(qd);
  await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  await mkdir(images, { recursive: true });
  const url = `${qd.url}/status/acme`;

  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of schemes) {
      await visit(url, { viewport, colorScheme });
      const what = `${size}, ${colorScheme}`;
      assert.deepEqual(
        requests.filter((r) => !r.startsWith('data:')),
        [url],
        what,
      );
      assert.deepEqual(complaints, [], what);
      assert.equal(await tab.locator('script').count(), 0);
      assert.ok((await tab.evaluate<number>('document.documentElement.scrollWidth')) <= viewport.width, `${what}: nothing sticks out`);
      const ground = await tab.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      assert.equal(ground, colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)');
      const bars = await tab
        .locator('svg.bar')
        .evaluateAll((all) =>
          all.map((e) => (e as unknown as { getBoundingClientRect(): { width: number; height: number } }).getBoundingClientRect()),
        );
      assert.equal(bars.length, 9);
      for (const { width, height } of bars) assert.ok(width > 0.75 * Math.min(viewport.width, 736) && height > 20, what);
      const picture = await tab.screenshot({
        fullPage: size === 'desktop',
        ...(update ? { path: join(images, `status-${size}-${colorScheme}.png`) } : {}),
      });
      assert.ok(picture.length > 10_000);
      await tab.locator('details').first().locator('summary').click();
      // Once for each width and each scheme: contrast hangs on the one, order and size on the other.
      if ((size === 'phone') === (colorScheme === 'light')) await accessible(tab, what);
    }
  }

  if (update) {
    const first = await open(on, { deviceScaleFactor: 1.5 });
    await first.visit(url, { viewport: { width: 840, height: 1_050 }, colorScheme: 'light' });
    await first.tab.screenshot({ path: join(images, 'status-page.png') });
  }
  await visit(url);
  await tab.emulateMedia({ media: 'print' });
  assert.equal(await tab.locator('form').isVisible(), false, 'what paper cannot do is left out');
  assert.equal(await tab.locator('table').first().isVisible(), true, 'what is folded up on a screen is unfolded');
  await tab.emulateMedia({ media: null });
}

async function useKeyboard(qd: House, on: Browser) {
  await made(qd.owner.patch('/status-pages/acme', { logo: `data:image/gif;base64,${largeLogo.toString('base64')}` }));
  await shows(qd.url, 'acme', (text) => text.includes('/logo?v='));
  const { tab, requests, visit } = await open(on, { javaScriptEnabled: false });
  await visit(`${qd.url}/status/acme`);
  assert.equal(requests.length, 2, 'a large logo is a second request, to ourselves');
  assert.ok(requests.every((r) => r.startsWith(qd.url)));
  assert.match(requests[1]!, /\/status\/acme\/logo\?v=/);

  const reached: string[] = [];
  for (let n = 0; n < 15; n++) {
    await tab.keyboard.press('Tab');
    const at = tab.locator(':focus');
    reached.push(((await at.textContent()) || (await at.getAttribute('name'))) ?? '');
  }
  assert.deepEqual(reached.slice(0, 2), ['By month for Website', 'By month for Checkout']);
  assert.deepEqual(reached.slice(9, 15), ['address', 'Subscribe', 'History', 'Atom', 'RSS', 'JSON']);
  await tab.locator('summary').first().focus();
  await tab.keyboard.press('Enter');
  assert.equal(await tab.locator('table').first().isVisible(), true);

  await tab.locator('input').focus();
  await tab.keyboard.type('reader@example.com');
  await tab.keyboard.press('Enter');
  await tab.waitForURL(/\/subscribe$/);
  assert.equal(await tab.locator('h1').textContent(), 'Look into your mailbox');
  await tab.locator('a').click();
  await tab.waitForURL(/\/status\/acme$/);
  await tab.locator('footer a', { hasText: 'History' }).click();
  await tab.waitForURL(/\/history$/);
  assert.equal(await tab.locator('article').count(), 2);
}

async function lookAtHostileWords(qd: House, { tab, requests, complaints, visit }: Window) {
  const hostile = [
    '<script>document.title="owned"</script>',
    '"><img src=x onerror=alert(1)>',
    "'; --></style><style>body{display:none}</style>",
    '&lt;b&gt; &amp; ]]> <!-- {{1}} $(id)',
    '</time></p></article></main><h1>Not ours</h1>',
    'http://evil.example/"onmouseover="alert(1)',
    '\u202Eright to left\u202C \uFEFF 😀 \u0007',
  ];
  const web = await service(qd.owner, `<b>Web</b>${hostile[1]!.slice(0, 60)}`);
  await makePage(qd.owner, 'evil', [web.id], {
    title: hostile[0],
    description: hostile[2],
    groups: [{ name: hostile[4]!.slice(0, 90), serviceIds: [web.id] }],
  });
  for (const words of hostile) await publish(qd.owner, await incident(qd.owner, web.id, words), `${words}\nand a second line`);
  await shows(qd.url, 'evil', (text) => text.includes('right to left'), '/history');
  for (const path of ['', '/history']) {
    await visit(`${qd.url}/status/evil${path}`);
    assert.deepEqual(
      requests.filter((r) => !r.startsWith('data:')),
      [`${qd.url}/status/evil${path}`],
    );
    assert.deepEqual(complaints, []);
    assert.equal(await tab.locator('script, img[src=x], style ~ style').count(), 0);
    assert.equal(await tab.locator('h1').count(), 1);
    assert.ok((await tab.locator('h1').textContent())!.includes(hostile[0]!));
    assert.equal(await tab.locator('body').isVisible(), true);
    if (path) {
      const titles = await tab.locator('article h3').allTextContents();
      assert.deepEqual(titles.sort(), [...hostile].sort());
      assert.deepEqual(await tab.locator('[onmouseover], [onerror]').count(), 0);
    }
    await accessible(tab, `evil${path}`);
  }
}

async function lookAtOtherPages(qd: House, on: Browser, { tab, visit }: Window) {
  const { owner, url } = qd;
  await makePage(owner, 'bright', [(await service(owner, 'Bright')).id], { accentColour: '#ffe600', title: 'Bright Cloud' });
  await form(`${url}/status/bright/subscribe`, { address: 'reader@example.com' });
  for (const colorScheme of schemes) {
    for (const path of colorScheme === 'dark' ? ['bright', 'never-was'] : ['bright/history', 'bright/confirm/xxxxxxxxxxxxxxxxxxxxxxxx']) {
      await visit(`${url}/status/${path}`, { viewport: sizes.phone, colorScheme });
      await accessible(tab, `${path}, ${colorScheme}`);
    }
  }
  const giveBack = await takeDatabase(qd);
  await shows(url, 'bright', (text) => text.includes('class="stale"'));
  const late = await open(on); // without what this one remembers
  await late.visit(`${url}/status/bright`, { viewport: sizes.phone });
  assert.match(
    (await late.tab.locator('.stale').textContent())!,
    /This page is less than a minute old\. We cannot look at the newest state/,
  );
  if (update) await late.tab.screenshot({ path: join(images, 'status-late.png') });
  await accessible(late.tab, 'late');
  await giveBack();
}

test('browsers show it to everybody', async (t) => {
  const [qd, on] = await Promise.all([house(t), browser(t)]);
  const window = await open(on);
  await t.test('a page is one request without script, readable at any width in both colour schemes, for everybody', () =>
    lookAtDemo(qd, on, window),
  );
  await t.test('everything can be reached and done by keyboard, without script', () => useKeyboard(qd, on));
  await t.test('hostile words are shown as they are', () => lookAtHostileWords(qd, window));
  await t.test('every other page of ours is as readable, and one that is late says so', () => lookAtOtherPages(qd, on, window));
});
