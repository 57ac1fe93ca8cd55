import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import type { Op } from '../../contract/common.ts';
import { contract } from '../../contract/index.ts';
import { embedded } from '../../src/drivers/embedded/test/support.ts';
import { quarterdeck } from '../harness/index.ts';
import { clusterDoors, doors, measureGrowth, type Pumped, pieces, textsOf } from './pump.ts';

// The one test that a measured time decides. It compares CPU of the thread that serves, at n and at 4n, the least of five; and only where one
// request took so long that a neighbour would notice.

const pump = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

/** Every text, made of every piece; those whose time grows faster than their length. */
async function findSlow(texts: Pumped[], ask: (text: Pumped, content: string) => Promise<void>): Promise<string[]> {
  const slow: string[] = [];
  for (const text of texts)
    for (const piece of pieces) {
      const measured = await measureGrowth((length) => ask(text, `${pump(piece, length)}!`), text.most);
      if (measured?.isSlow)
        slow.push(
          `${text.what}, of ${JSON.stringify(piece)}: ${measured.quarter.toFixed(1)} ms at a quarter, ${measured.whole.toFixed(1)} ms`,
        );
    }
  return slow;
}

test('a time that grows with the square of a text is found, and one that grows with its length is not', async () => {
  const trailing = (text: string) => text.replace(/ +$/, '');
  const quadratic = async (length: number) => trailing(`${pump(' ', length)}x`);
  const linear = async (length: number) => {
    for (let n = 0; n < 400; n++) pump('ab', length).split('a');
  };
  assert.equal((await measureGrowth(quadratic, 8_000))?.isSlow, true);
  assert.notEqual((await measureGrowth(linear, 8_000))?.isSlow, true);
});

test('no text of a request costs more than its length', { timeout: 170_000 }, async (t) => {
  const { url, owner } = await quarterdeck(t);
  const { port } = new URL(url);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const ask = ({ ask: make }: Pumped, text: string) =>
    new Promise<void>((resolve) => {
      const { method, path, headers = {}, body } = make(text);
      const all = {
        authorization: `Bearer ${owner.key}`,
        ...headers,
        ...(body ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
      };
      request({ host: '127.0.0.1', port, agent, method, path, headers: all }, (answer) => {
        answer.resume().once('close', () => resolve());
      })
        .once('error', () => resolve())
        .end(body);
    });

  const texts = [...doors(), ...(Object.values(contract) as Op[]).flatMap(textsOf)];
  assert.ok(texts.length > 300, `${texts.length} texts`);
  assert.deepEqual(await findSlow(texts, ask), []);
});

test('no text of a request to a cluster costs more than its length, before it is known who asks', async (t) => {
  const { as } = await embedded(t);
  const stranger = as();
  const ask = async ({ ask: make }: Pumped, text: string) => {
    const { method, path, headers } = make(text);
    await stranger(method, path, undefined, headers).catch(() => {});
  };
  assert.deepEqual(await findSlow(clusterDoors(), ask), []);
});
