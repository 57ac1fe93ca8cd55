import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashesMade, makeHash, makeHashQueue, verifyHash } from '../engine/hashing.ts';
import { passwordProblem } from '../rules/new-password.ts';
import { formatPhc, parsePhc } from '../rules/phc.ts';

const ada = { email: 'ada.lovelace@engines.example', name: 'Ada Lovelace', organizations: ['analytical-society'] };

test('a weak password is refused with a sentence', () => {
  const refused: [string, RegExp][] = [
    ['', /0 characters.*at least 15/],
    ['fourteen chars', /14 characters: use at least 15/],
    ['é'.repeat(14), /14 characters/],
    ['e\u0301'.repeat(14), /14 characters/], // NFC: as many as are seen
    ['😀'.repeat(10), /10 characters/],
    ['x'.repeat(129), /129 characters: use at most 128/],
    ['aaaaaaaaaaaaaaaa', /repeats/],
    ['abcabcabcabcabcab', /repeats/],
    ['passwordpassword', /repeats/],
    ['123456789012345', /repeats/],
    ['abcdefghijklmnop', /counts up/],
    ['zyxwvutsrqponmlk', /counts up/],
    ['Quarterdeck 2026!', /little more than/],
    ['ada.lovelace@engines.example', /little more than/],
    ['AdaLovelace12345', /little more than/],
    ['analytical-society1', /little more than/],
  ];
  for (const [password, why] of refused) assert.match(passwordProblem(password, ada) ?? 'taken', why, password);
  for (const password of [
    'correct horse battery staple',
    '837465920184756',
    'ada likes the difference engine',
    'пароль из четырёх слов',
    'x1'.repeat(3) + 'y'.repeat(122),
  ])
    assert.equal(passwordProblem(password, ada), undefined, password);
});

test('a password is stored with its parameters, and others are noticed', async () => {
  const phc = await makeHash('correct horse battery staple');
  assert.match(phc, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.equal(formatPhc(parsePhc(phc)), phc);
  assert.deepEqual(await verifyHash('correct horse battery staple', phc), { isRight: true, rehash: false });
  assert.equal((await verifyHash('correct horse battery stapl', phc)).isRight, false);
  const before = hashesMade();
  assert.equal((await verifyHash('correct horse battery staple', undefined)).isRight, false);
  assert.equal(hashesMade() - before, 1, 'no password costs one hash, too');
  // The first test vector of argon2id in the reference implementation: password, somesalt, t 2, m 65536, p 1.
  const vector = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.deepEqual(await verifyHash('password', vector), { isRight: true, rehash: true });
});

test('few passwords are hashed at a time, few wait, and one address does not take all places', async () => {
  const queue = makeHashQueue(2);
  let running = 0;
  let most = 0;
  let end = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async () => {
    most = Math.max(most, ++running);
    await held;
    running--;
  };
  const settled = (address: string, personId?: string) =>
    queue.run({ address, personId }, work).then(
      () => 200,
      (error) => [error.status, error.headers['retry-after']].join(' '),
    );
  const greedy = Array.from({ length: 20 }, () => settled('192.0.2.1'));
  const others = Array.from({ length: 40 }, (_, i) => settled(`198.51.100.${i}`));
  const answered: string[] = [];
  const known = Array.from({ length: 3 }, (_, i) => settled('192.0.2.1', 'usr_one').finally(() => answered.push(`known ${i}`)));
  const flood = Array.from({ length: 10 }, (_, i) => settled(`203.0.113.${i}`, 'usr_other'));
  for (const [i, other] of others.entries()) void other.then((answer) => answer === 200 && answered.push(`stranger ${i}`));
  end();
  const count = async (all: Promise<unknown>[]) =>
    Object.entries(Object.groupBy(await Promise.all(all), String)).map(([k, v]) => `${k}: ${v!.length}`);
  assert.deepEqual(await count(greedy), ['200: 8', '503 5: 12']);
  assert.deepEqual(await count(others), ['200: 26', '503 5: 14']);
  assert.deepEqual(await count(known), ['200: 3'], 'strangers do not fill the lane of known people');
  assert.deepEqual(await count(flood), ['200: 3', '503 5: 7'], 'nor does one of them, at however many addresses');
  assert.ok(answered.indexOf('known 2') < 12, `the lanes take turns: ${answered}`);
  assert.equal(most, 2);
  assert.equal(await settled('192.0.2.1'), 200, 'places are free again');
});
