import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../../errors.ts';
import { GuardRefusal, makeGuard } from '../index.ts';
import { recorder, says, somewhere } from './internet.ts';
import { v4Spellings, v6Spellings } from './spellings.ts';

/** RFC 6890 and its successors, written down a second time on purpose, independent of the module. */
const forbidden: [first: string, bits: number][] = [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
  ] as [string, number][]),
  ...([
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
  ] as [string, number][]),
  ...([
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as [string, number][]),
];

const addressIn = ([first, bits]: [string, number]) => {
  const start = first.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return fc.integer({ min: 0, max: 2 ** (32 - bits) - 1 }).map((offset) => {
    const value = start + offset;
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  });
};
const forbiddenAddress = fc.oneof(...forbidden.map(addressIn));
const host = fc.oneof(
  fc.tuple(forbiddenAddress, fc.constantFrom(...Object.values(v4Spellings))).map(([address, spell]) => spell(address)),
  fc.tuple(forbiddenAddress, fc.constantFrom(...Object.values(v6Spellings))).map(([address, spell]) => `[${spell(address)}]`),
);

test('any private address in any spelling is refused', async () => {
  const { connector, reached } = recorder();
  const resolver = says(somewhere);
  const guard = makeGuard({ resolver, connector });
  await fc.assert(
    fc.asyncProperty(host, fc.constantFrom('http', 'https'), async (spelled, scheme) => {
      await assert.rejects(guard.fetch('webhook', `${scheme}://${spelled}/`), GuardRefusal);
      await assert.rejects(guard.connectTcp('uptime', spelled, 80), GuardRefusal);
    }),
    { numRuns: 2000 },
  );
  assert.deepEqual([resolver.asked, reached], [[], []]);
});

test('any private address that a name resolves to is refused, beside any number of public ones', async () => {
  const { connector, reached } = recorder();
  const mixed = fc.tuple(forbiddenAddress, fc.nat({ max: 5 }), fc.nat({ max: 5 }));
  await fc.assert(
    fc.asyncProperty(mixed, async ([address, before, after]) => {
      const answers = [...Array(before).fill(somewhere), address, ...Array(after).fill('2606:4700::1111')];
      const guard = makeGuard({ resolver: says(...answers), connector });
      await assert.rejects(guard.fetch('webhook', 'http://example.org/'), GuardRefusal);
    }),
    { numRuns: 500 },
  );
  assert.deepEqual(reached, []);
});

test('a host is what a URL says, or it is refused: there is no third reading', async () => {
  const { connector, reached } = recorder();
  const guard = makeGuard({ resolver: says('127.0.0.1'), connector });
  const bit = fc.constantFrom(...'0123456789af.:x', '..', '::', '0x', '%', '１', '。', '[', ']', ' ', '/');
  const address = fc.oneof(fc.ipV4Extended(), fc.ipV6());
  const almostAddress = fc.tuple(address, fc.nat({ max: 40 }), bit).map(([text, at, more]) => text.slice(0, at) + more + text.slice(at));
  const anything = fc.oneof(address, almostAddress, fc.string({ unit: bit, maxLength: 16 }));
  await fc.assert(
    fc.asyncProperty(anything, async (raw) => {
      const before = reached.length;
      await assert.rejects(guard.connectTcp('uptime', raw, 80), Refusal);
      // The resolver knows loopback alone, so whatever was reached is a literal.
      for (const { address } of reached.slice(before)) assert.equal(address, readByUrl(raw), JSON.stringify(raw));
    }),
    { numRuns: 5000 },
  );
  assert.ok(reached.length > 100, 'some were public addresses');
});

function readByUrl(raw: string): string {
  const { hostname } = new URL(`http://${raw.includes(':') && !raw.startsWith('[') ? `[${raw}]` : raw}/`);
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname) ?? [];
  if (high === undefined) return hostname.replace(/^\[|\]$/g, '');
  return [high, low!].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 0xff]).join('.');
}
