import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../test/harness/any-text.ts';
import { exitCodes, Stop } from '../errors.ts';
import { keyFile, keyIdOf, makeSecrets, newKey, readKeys, seal, unseal, writeKeys } from '../secrets.ts';

const ring = { keys: [newKey(), newKey()] };
const where = 'email.webhook.secret.whk_1';

test('whatever was sealed opens again, in its place and with a key of the ring', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 200 }), fc.string({ maxLength: 50 }), (plain, place) => {
      const sealed = seal(ring, plain, place);
      assert.equal(unseal(ring, sealed, place).toString(), plain.toWellFormed());
      if (plain.length > 4) assert.equal(sealed.includes(plain), false);
    }),
  );
});

test('in another place, changed by a bit, or with another key it does not', () => {
  const sealed = seal(ring, 'hunter2', where);
  assert.throws(() => unseal(ring, sealed, 'email.webhook.secret.whk_2'));
  for (let at = 0; at < sealed.length; at++) {
    const bent = Buffer.from(sealed);
    bent[at]! ^= 1;
    assert.throws(() => unseal(ring, bent, where), `byte ${at}`);
  }
  for (let length = 0; length < sealed.length; length++) assert.throws(() => unseal(ring, sealed.subarray(0, length), where));
  assert.throws(() => unseal({ keys: [newKey()] }, sealed, where), /is sealed with key [0-9a-f]{8}, which secret\.key does not hold/);
  // The right id over another key: a file that was put together by hand.
  const forged = { keys: [{ id: ring.keys[0]!.id, key: randomBytes(32) }] };
  assert.throws(() => unseal(forged, sealed, where));
});

test('two sealings of one secret look different', () => {
  assert.notDeepEqual(seal(ring, 'hunter2', where), seal(ring, 'hunter2', where));
});

test('the first key of the list seals, all open: so a new one is put on top and the old ones stay until nothing is sealed with them', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qds-'));
  t.after(() => rm(dir, { recursive: true }));
  const [old, fresh] = [newKey(), newKey()];
  const before = seal({ keys: [old] }, 'hunter2', where);
  await writeKeys(keyFile(dir), { keys: [fresh, old] });
  assert.equal((await stat(keyFile(dir))).mode & 0o777, 0o600);

  const read = (await readKeys(keyFile(dir)))!;
  assert.deepEqual(
    read.keys.map((k) => k.id),
    [fresh.id, old.id],
  );
  const secrets = makeSecrets(dir, read);
  t.after(() => secrets.close());
  assert.equal(secrets.unseal(before, where), 'hunter2');
  assert.equal(keyIdOf(before), old.id);
  assert.equal(keyIdOf(secrets.seal('hunter2', where)), fresh.id);
});

test('a key file that cannot be right is refused, never read in part', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qds-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = keyFile(dir);
  assert.equal(await readKeys(file), undefined);
  const good = `k1:${randomBytes(32).toString('base64')}`;
  const wrong: [string, RegExp][] = [
    ['', /is empty; restore it from a backup/],
    ['\n\n', /is empty/],
    ['nonsense', /is damaged: each line must be id:base64 of 32 bytes/],
    [`${good}\nk2:${randomBytes(31).toString('base64')}\n`, /is damaged/],
    [`${good}\nK2 !:${randomBytes(32).toString('base64')}\n`, /is damaged/],
  ];
  for (const [text, sentence] of wrong) {
    await writeFile(file, text);
    await assert.rejects(
      readKeys(file),
      (error) => error instanceof Stop && error.exitCode === exitCodes.secretKey && sentence.test(error.message),
    );
  }
  await writeFile(file, `\n${good}\n\n`);
  assert.equal((await readKeys(file))!.keys.length, 1);
  assert.match(await readFile(file, 'utf8'), /k1/);
});
