import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { page, read, service, shows } from '../support.ts';

/** One pixel each. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const gif = 'R0lGODlhAQABAAAAACwAAAAAAQABAAA=';

test('a status page is made, changed and taken down', async (t) => {
  const { owner, url, organization } = await quarterdeck(t);
  const [web, api] = [await service(owner, 'Web'), await service(owner, 'API')];
  const answer = await owner.post('/status-pages', {
    slug: 'acme',
    title: '  Acme  ',
    description: 'How we do',
    serviceIds: [api.id, web.id],
    groups: [{ name: 'Inside', serviceIds: [api.id] }],
    accentColour: '#ff8800',
    logo: `data:image/png;base64,${png}`,
    timezone: 'Europe/Paris',
  });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get('location'), '/api/v1/status-pages/acme');
  const { createdAt, logoUrl, ...rest } = answer.body;
  assert.match(createdAt, /Z$/);
  assert.deepEqual(rest, {
    slug: 'acme',
    title: 'Acme',
    description: 'How we do',
    serviceIds: [api.id, web.id],
    groups: [{ name: 'Inside', serviceIds: [api.id] }],
    accentColour: '#ff8800',
    timezone: 'Europe/Paris',
    subscribers: 0,
    url: `${url}/status/acme`,
  });
  const logo = await fetch(logoUrl);
  assert.equal(logo.headers.get('content-type'), 'image/png');
  assert.equal(logo.headers.get('x-content-type-options'), 'nosniff');
  assert.match(logo.headers.get('content-security-policy')!, /sandbox/);
  assert.ok(Buffer.from(await logo.arrayBuffer()).equals(Buffer.from(png, 'base64')));
  assert.deepEqual((await owner.get('/status-pages')).body.pages, [answer.body]);
  assert.deepEqual((await owner.get('/status-pages/acme')).body, { ...answer.body, heldBack: [] });

  const text = (await read(`${url}/status/acme`)).text;
  assert.ok(
    text.indexOf('>Web<') < text.indexOf('>Inside<') && text.indexOf('>Inside<') < text.indexOf('>API<'),
    'those in no group first',
  );
  assert.ok(text.includes(`<img src="data:image/png;base64,${png}"`), 'a small logo travels inside');

  assert.deepEqual((await owner.patch('/status-pages/acme', {})).body, answer.body);
  const changed = await owner.patch('/status-pages/acme', {
    title: 'Acme Two',
    description: null,
    logo: null,
    accentColour: null,
    groups: [],
  });
  assert.equal(changed.status, 200);
  for (const gone of ['description', 'logoUrl', 'accentColour']) assert.ok(!(gone in changed.body), gone);
  const later = await shows(url, 'acme', (seen) => seen.includes('Acme Two'));
  assert.ok(!later.text.includes('How we do') && !later.text.includes('<img') && !later.text.includes('Inside'));
  assert.equal((await fetch(logoUrl)).status, 404);

  const other = await organization('other');
  assert.equal((await other.post('/status-pages', { slug: 'acme', title: 'x', serviceIds: [(await service(other, 'x')).id] })).status, 409);
  assert.equal((await owner.post('/status-pages', { slug: 'history', title: 'x', serviceIds: [web.id] })).status, 409);
  assert.equal((await owner.delete('/status-pages/acme')).status, 204);
  assert.equal((await read(`${url}/status/acme`)).status, 404);
  assert.equal((await owner.delete('/status-pages/acme')).status, 404);
  await page(other, 'acme', [(await service(other, 'y')).id], { title: 'Another Acme' }); // the name is free again
  await shows(url, 'acme', (seen) => seen.includes('Another Acme'));
});

test('what a page cannot be is refused with a sentence', async (t) => {
  const { owner, organization } = await quarterdeck(t);
  const mine = await service(owner, 'mine');
  const theirs = await service(await organization('other'), 'theirs');
  const base = { slug: 'acme', title: 'Acme', serviceIds: [mine.id] };
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>').toString('base64');
  const refused: [Record<string, unknown>, number, RegExp][] = [
    [{ serviceIds: [theirs.id] }, 404, /unknown service svc_\w+ in serviceIds/],
    [{ serviceIds: ['svc_00000000000000000000000000'] }, 404, /unknown service/],
    [{ serviceIds: [mine.id, mine.id] }, 400, /twice/],
    [{ serviceIds: [] }, 400, /serviceIds/],
    [{ groups: [{ name: 'g', serviceIds: [theirs.id] }] }, 400, /not among serviceIds/],
    [{ groups: [{ name: 'g', serviceIds: [mine.id, mine.id] }] }, 400, /twice/],
    [{ timezone: 'Mars/Olympus' }, 400, /IANA/],
    [{ timezone: '+02:00' }, 400, /IANA/],
    [{ timezone: '2020-01-01T00:00Z' }, 400, /IANA/],
    [{ timezone: '2020-01-01T00:00[Europe/Paris]' }, 400, /IANA/],
    [{ accentColour: 'red' }, 400, /accentColour/],
    [{ logo: `data:image/svg+xml;base64,${svg}` }, 400, /logo/],
    [{ logo: `data:image/png;base64,${svg}` }, 400, /PNG, JPEG, WebP or GIF/],
    [{ logo: `data:image/png;base64,${gif}` }, 400, /is image\/gif/],
    [{ logo: `data:image/gif;base64,${gif}${'A'.repeat(65_540)}` }, 400, /logo/],
    [{ slug: 'No' }, 400, /slug/],
    [{ css: 'x' }, 400, /css/],
  ];
  for (const [over, status, sentence] of refused) {
    const { status: got, body } = await owner.post('/status-pages', { ...base, ...over });
    assert.equal(got, status, JSON.stringify(over).slice(0, 100));
    assert.match(body.error, sentence);
  }
  await page(owner, 'acme', [mine.id]);
  for (const [over, status] of refused.filter(([o]) => !('slug' in o))) {
    const answer = await owner.patch('/status-pages/acme', over);
    assert.equal(answer.status, status, JSON.stringify(over).slice(0, 100));
  }
  assert.equal((await owner.patch('/status-pages/acme', { title: null })).status, 400);
});
