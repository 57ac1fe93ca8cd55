import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../../test/harness/any-text.ts';
import { escaped } from '../../../../kernel/http/html.ts';
import { linked } from '../../views/render/linked.ts';
import { house, incident, page, publish, service, shows } from '../support.ts';

const link = (url: string) => `<a href="${escaped(url)}" rel="nofollow noopener">${escaped(url)}</a>`;

test('addresses of the web become links, and nothing else does', () => {
  assert.equal(linked('See https://acme.example/a?b=1&c=2.'), `See ${link('https://acme.example/a?b=1&c=2')}.`);
  assert.equal(
    linked('(http://acme.example/x), or HTTPS://ACME.example!'),
    `(${link('http://acme.example/x')}), or ${link('HTTPS://ACME.example')}!`,
  );
  assert.equal(linked('https://a.example\nhttps://b.example'), `${link('https://a.example')}\n${link('https://b.example')}`);
  for (const text of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a.example',
    'mailto:a@b.example',
    '//a.example/x',
    'www.a.example',
    'xhttps://a.example',
    'https://',
    'https:///',
    'http://[',
  ])
    assert.equal(linked(text), escaped(text), text);
  assert.equal(linked('https://a.example/"onmouseover="x'), `${link('https://a.example/')}${escaped('"onmouseover="x')}`);
  assert.equal(linked('https://a.example/<script>'), `${link('https://a.example/')}${escaped('<script>')}`);
});

test('whatever is written, the markup says the same text, and holds no element but links of the web', () => {
  const words = fc.constantFrom('https://', 'http://', 'a.example', '"', "'", '<', '>', '&', ' ', '\n', '.', ')', 'javascript:', '\\', '`');
  fc.assert(
    fc.property(fc.array(fc.oneof(words, anyText({ maxLength: 3 })), { maxLength: 20 }), (parts) => {
      const text = parts.join('');
      const made = linked(text);
      const bare = made.replaceAll(/<a href="https?:\/\/[^"<>]*" rel="nofollow noopener">([^<]*)<\/a>/gi, '$1');
      assert.equal(bare, escaped(text));
    }),
    { numRuns: 500 },
  );
});

test('the page and its history show them, in the order of the services that the team gave', async (t) => {
  const { owner, url } = await house(t);
  const names = ['Zebra', 'Apple', 'Mango', 'Berry'];
  const ids: string[] = [];
  for (const name of ['Apple', 'Berry', 'Mango', 'Zebra']) ids.push((await service(owner, name)).id);
  const [apple, berry, mango, zebra] = ids as [string, string, string, string];
  await page(owner, 'acme', [zebra, apple, mango, berry], { groups: [{ name: 'Fruit', serviceIds: [mango, berry] }] });
  const id = await incident(owner, apple, 'Slow');
  await publish(owner, id, 'Follow https://acme.example/42 for more.');
  for (const name of ['', '/history'])
    await shows(url, 'acme', (text) => text.includes(`Follow ${link('https://acme.example/42')} for more.`), name);

  const json = JSON.parse((await shows(url, 'acme', () => true, '.json')).text);
  assert.deepEqual(
    json.services.map((s: { name: string }) => s.name),
    names,
  );
  const html = (await shows(url, 'acme', () => true)).text;
  assert.deepEqual(
    [...html.matchAll(/<div class="row"><b>([^<]+)/g)].map((m) => m[1]),
    names,
  );
  const { components } = JSON.parse((await shows(url, 'acme', () => true, '/api/v2/components.json')).text);
  assert.deepEqual(
    components.toSorted((a: { position: number }, b: { position: number }) => a.position - b.position).map((c: { name: string }) => c.name),
    ['Zebra', 'Apple', 'Fruit', 'Mango', 'Berry'],
  );
});
