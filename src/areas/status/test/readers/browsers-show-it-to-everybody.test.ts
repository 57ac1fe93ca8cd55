import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { browser } from '../../../../../test/harness/browser.ts';
import { demo } from '../demo.ts';
import { form, house, incident, page as makePage, publish, service, shows, takeDatabase } from '../support.ts';

// Pictures for the documentation are rewritten with QUARTERDECK_UPDATE=1; every run takes them, and looks at the layout.
const images = join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'images');
const update = process.env.QUARTERDECK_UPDATE;

const sizes = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } };
const schemes = ['light', 'dark'] as const;

interface Opened {
  context: BrowserContext;
  tab: Page;
  requests: string[];
  complaints: string[];
}

async function open(on: Browser, url: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
  const context = await on.newContext(options);
  const tab = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  tab.on('request', (request) => requests.push(request.url()));
  tab.on('console', (message) => complaints.push(message.text()));
  tab.on('pageerror', (error) => complaints.push(error.message));
  await tab.goto(url);
  return { context, tab, requests, complaints };
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

test('a page is one request without script, readable at any width in both colour schemes, for everybody', async (t) => {
  const qd = await house(t);
  await demo(qd);
  await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  const on = await browser(t);
  await mkdir(images, { recursive: true });
  const url = `${qd.url}/status/acme`;

  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of schemes) {
      const { context, tab, requests, complaints } = await open(on, url, { viewport, colorScheme });
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
      await context.close();
    }
  }

  if (update) {
    const first = await open(on, url, { viewport: { width: 840, height: 1_050 }, colorScheme: 'light', deviceScaleFactor: 1.5 });
    await first.tab.screenshot({ path: join(images, 'status-page.png') });
    await first.context.close();
  }
  const printed = await open(on, url, { viewport: sizes.desktop });
  await printed.tab.emulateMedia({ media: 'print' });
  assert.equal(await printed.tab.locator('form').isVisible(), false, 'what paper cannot do is left out');
  assert.equal(await printed.tab.locator('table').first().isVisible(), true, 'what is folded up on a screen is unfolded');
  await printed.context.close();
});

test('everything can be reached and done by keyboard, without script', async (t) => {
  const qd = await house(t);
  await demo(qd, 'acme', {
    logo: `data:image/gif;base64,${Buffer.concat([Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64'), Buffer.alloc(4_000)]).toString('base64')}`,
  });
  await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  const on = await browser(t);
  const { context, tab, requests } = await open(on, `${qd.url}/status/acme`, { viewport: sizes.desktop, javaScriptEnabled: false });
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
  await context.close();
});

test('hostile words are shown as they are', async (t) => {
  const qd = await house(t);
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
  const on = await browser(t);
  for (const path of ['', '/history']) {
    const { context, tab, requests, complaints } = await open(on, `${qd.url}/status/evil${path}`);
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
    await context.close();
  }
});

test('every other page of ours is as readable, and one that is late says so', async (t) => {
  const qd = await house(t);
  const { owner, url } = qd;
  await makePage(owner, 'acme', [(await service(owner, 'Web')).id], { accentColour: '#ffe600', title: 'Acme Cloud' });
  await form(`${url}/status/acme/subscribe`, { address: 'reader@example.com' });
  const on = await browser(t);
  for (const colorScheme of schemes) {
    for (const path of colorScheme === 'dark' ? ['acme', 'never-was'] : ['acme/history', 'acme/confirm/xxxxxxxxxxxxxxxxxxxxxxxx']) {
      const { context, tab } = await open(on, `${url}/status/${path}`, { viewport: sizes.phone, colorScheme });
      await accessible(tab, `${path}, ${colorScheme}`);
      await context.close();
    }
  }
  const giveBack = await takeDatabase(qd);
  await shows(url, 'acme', (text) => text.includes('class="stale"'));
  const { context, tab } = await open(on, `${url}/status/acme`, { viewport: sizes.phone });
  assert.match((await tab.locator('.stale').textContent())!, /This page is less than a minute old\. We cannot look at the newest state/);
  if (update) await tab.screenshot({ path: join(images, 'status-late.png') });
  await accessible(tab, 'late');
  await context.close();
  await giveBack();
});
