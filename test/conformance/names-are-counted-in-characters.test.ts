import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';

const names: Record<string, string> = {
  'emoji outside the basic plane': '🚢'.repeat(100),
  'families joined by zero-width joiners': '👩‍👩‍👧‍👦 team',
  'right to left': 'שלום עולם',
  'an override of direction': 'evil\u202Etxt.exe',
  'combining marks': 'e\u0301'.repeat(50),
  Zalgo: `Z${'\u0336'.repeat(99)}`,
  'every plane': '\u{1F600}\u{2070E}\u{E0001}\u{10FFFD}',
  'what SQL and HTML mind': `'; drop table x; -- <script>alert(1)</script> \\ " % _`,
  'line breaks': 'one\ntwo\r\nthree',
};

test('names of every script come back as they were sent, counted in characters', async (t) => {
  const { owner } = await quarterdeck(t);
  for (const [what, name] of Object.entries(names)) {
    const made = await owner.post('/uptime/services', { name });
    assert.equal(made.status, 201, `${what}: ${JSON.stringify(made.body)}`);
    assert.equal(made.body.name, name, what);
  }
  const listed = (await owner.get('/uptime/services')).body.services.map((s: { name: string }) => s.name);
  assert.deepEqual(listed.reverse(), Object.values(names));
});

test('a character too many is one too many, however it is encoded', async (t) => {
  const { owner } = await quarterdeck(t);
  for (const name of ['🚢'.repeat(101), 'é'.repeat(101), `e${'\u0301'.repeat(100)}`]) {
    const refused = await owner.post('/tokens', { name });
    assert.deepEqual([refused.status, refused.body], [400, { error: 'name must have at most 100 characters' }]);
  }
});

test('names are trimmed before they are counted and compared', async (t) => {
  const { owner } = await quarterdeck(t);
  const made = await owner.post('/uptime/services', { name: ` \u00a0${'x'.repeat(100)}\u2003\n` });
  assert.equal(made.status, 201);
  assert.equal(made.body.name, 'x'.repeat(100));
  assert.equal((await owner.post('/uptime/services', { name: `  ${'X'.repeat(100)}` })).status, 409);
});
