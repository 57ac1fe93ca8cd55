import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { contract } from '../../../contract/index.ts';
import { areasOf } from '../../../contract/openapi.ts';
import { browser } from '../../../test/harness/browser.ts';
import { homeBody } from '../../boot/home-page.ts';
import { renderHtml } from '../../kernel/http/html.ts';
import { withBanner } from '../banner.ts';
import * as pages from '../pages.ts';
import type { PhoneItem } from '../phone.ts';

const at = '2026-05-04T12:00:00.000Z';
const long = 'unbroken'.repeat(40);
const raw = Buffer.from(
  `From: Ada <ada@try.example>\r\nTo: you@far.example\r\nSubject: ${long.slice(0, 90)}\r\nContent-Type: text/html\r\n\r\n<b>It works.</b>`,
);
const message = { id: 1, from: `b+${'1'.repeat(60)}@bounce.try.example`, to: ['you@far.example'], at, raw };
const rung = { id: 1, kind: 'message', to: '+15005550100', at, text: `[try] ${long}`, status: 'delivered', replies: ['Acknowledged.'] };
const delivery = { id: 1, at, path: '/try/echo', headers: { 'webhook-id': long }, body: JSON.stringify({ long }), signedBy: undefined };

async function allPages(): Promise<Record<string, string>> {
  return {
    home: homeBody(areasOf(contract)),
    overview: pages.overviewPage('http://127.0.0.1:8080'),
    inbox: pages.inboxPage([await pages.summaryOf(message), await pages.summaryOf({ ...message, id: 2 })]),
    message: (await pages.messagePage(message)).body,
    phone: pages.phonePage([rung, { ...rung, id: 2, kind: 'call' }] as PhoneItem[]),
    webhooks: pages.echoPage([delivery, { ...delivery, id: 2, signedBy: 'whe_1' }], 'http://127.0.0.1:8080'),
  };
}

test('the first page and those of --try fit a phone, light and dark, and buttons keep apart', async (t) => {
  const tab = await (await browser(t)).newPage({ viewport: { width: 360, height: 740 } });
  await tab.route('**/try/inbox/1/html', (route) => route.fulfill({ body: '<b>It works.</b>', contentType: 'text/html' }));
  for (const [name, body] of Object.entries(await allPages()))
    for (const colorScheme of ['light', 'dark'] as const) {
      await tab.emulateMedia({ colorScheme });
      await tab.setContent(String(withBanner(renderHtml(name, body))));
      assert.ok((await tab.evaluate<number>('document.documentElement.scrollWidth')) <= 360, `${name} sticks out`);
      const axe = new AxeBuilder({ page: tab }).setLegacyMode().options({ rules: { 'target-size': { enabled: true } } });
      const { violations } = await axe.analyze();
      // The banner stands before the page's own content on every page, and belongs to none.
      const found = violations
        .filter(({ id }) => id !== 'region')
        .map((v) => `${v.id} ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`);
      assert.deepEqual(found, [], `${name}, ${colorScheme}`);
      const boxes = await tab.evaluate<{ y: number; bottom: number }[]>(
        "[...document.querySelectorAll('button')].map((b) => b.getBoundingClientRect().toJSON()).map(({ y, bottom }) => ({ y, bottom }))",
      );
      for (const [i, { y }] of boxes.entries()) assert.ok(i === 0 || y - boxes[i - 1]!.bottom >= 8, `${name}: two buttons touch`);
    }
});

test('the inbox names the author of a message, and where its bounces go only beside it', async () => {
  assert.equal((await pages.summaryOf(message)).author, 'Ada <ada@try.example>');
  const report = { ...message, from: '', raw: Buffer.from('Subject: no author\r\n\r\n') };
  assert.equal((await pages.summaryOf(report)).author, '');
  assert.match((await pages.messagePage(report)).body, /bounces to <bdi>nowhere: this is a report/);
  assert.match(pages.inboxPage([await pages.summaryOf(message)]), /2026-05-04 12:00:00 UTC · from <bdi>Ada &#60;ada@try\.example&#62;/);
});
