import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { browser } from '../../../../../test/harness/browser.ts';
import { alert, covered, detail, group, made, mails, source, unresolved, user, type Ward, ward } from '../support.ts';

/** Somebody paged for words as long as they come, and the link in their mail. */
async function paged(qd: Ward): Promise<string> {
  const { owner, smtp, url } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const prometheus = await source(owner, url, service.id);
  const fired = alert('n'.repeat(120), { labels: { ['l'.repeat(90)]: 'v'.repeat(300), hostile: '<img src=x onerror=alert(1)>' } });
  const annotations = {
    summary: `${'unbroken'.repeat(24)}`,
    description: `first line\n<script>document.title="owned"</script> ${'x'.repeat(500)}`,
    runbook_url: `https://runbooks.example/${'r'.repeat(300)}?a="b"`,
  };
  await made(prometheus.deliver(group([{ ...fired, annotations }], { commonAnnotations: annotations })));
  const [mail] = await mails(smtp, owner.email, 1);
  const flat = mail!.data.replaceAll('=\r\n', '');
  return new RegExp(`${url}/oncall/ack/[\\w-]+`).exec(flat)![0];
}

/** What an answer says about itself. */
async function lookAtPolicy(link: string) {
  const answer = await fetch(link);
  const html = await answer.text();
  const style = /<style>(.*?)<\/style>/s.exec(html)![1]!;
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    answer.headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  );
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.match(html, /<meta name="robots" content="noindex">/);
  assert.doesNotMatch(html, /<script|<img| style=/);
}

test('the page behind the link is whole at 360 pixels, light and dark, for everybody, and works without scripts', async (t) => {
  const qd = await ward(t);
  const link = await paged(qd);
  await t.test('its policy lets nothing run, names its one style by hash, and forbids framing, caching and indexing', () =>
    lookAtPolicy(link),
  );
  const on = await browser(t);
  const tab = await (await on.newContext({ viewport: { width: 360, height: 740 } })).newPage();
  const [requests, complaints]: [string[], string[]] = [[], []];
  tab.on('request', (request) => requests.push(request.url()));
  tab.on('console', (message) => complaints.push(message.text()));
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.emulateMedia({ colorScheme });
    requests.length = 0;
    await tab.goto(link);
    assert.deepEqual(requests, [link], 'nothing from elsewhere');
    assert.deepEqual(complaints, [], 'the policy lets its own style be');
    assert.ok((await tab.evaluate<number>('document.documentElement.scrollWidth')) <= 360, `${colorScheme}: nothing sticks out`);
    const ground = await tab.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    assert.equal(ground, colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)');
    const button = (await tab.locator('button').boundingBox())!;
    assert.ok(button.height >= 44 && button.x >= 0 && button.x + button.width <= 360 && button.y + button.height <= 740, 'within reach');
    assert.equal(await tab.locator('script, img').count(), 0);
    assert.match((await tab.locator('a', { hasText: 'Runbook' }).getAttribute('href'))!, /^https:\/\/runbooks\.example\/r+\?a=%22b%22$/);
    const { violations } = await new AxeBuilder({ page: tab }).setLegacyMode().analyze();
    assert.deepEqual(
      violations.map((v) => `${v.id} ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`),
      [],
    );
  }

  const [{ id }] = await unresolved(qd.owner);
  assert.equal((await detail(qd.owner, id)).status, 'open', 'looking changes nothing');
  const plain = await (await on.newContext({ viewport: { width: 360, height: 740 }, javaScriptEnabled: false })).newPage();
  await plain.goto(link);
  await plain.locator('button').click();
  await plain.waitForLoadState();
  assert.match((await plain.locator('main').textContent())!, /Acknowledged\. Nobody else will be paged\./);
  assert.equal((await detail(qd.owner, id)).status, 'acknowledged');
  await plain.goto(link);
  assert.match((await plain.locator('main').textContent())!, /Acknowledged by owner/);
});
