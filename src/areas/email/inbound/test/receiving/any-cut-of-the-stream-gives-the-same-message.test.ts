import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeDestinationLookup } from '../../engine/destinations.ts';
import type { InboundMessage } from '../../engine/inbound-message.ts';
import { startMxServer } from '../../planes/mx/index.ts';
import { mxScene } from './mx-scene.ts';

const line = fc.array(fc.constantFrom('a', '.', '..', ' ', 'Subject: x', '\t', 'é'), { maxLength: 5 }).map((parts) => parts.join(''));
const message = fc.array(line, { minLength: 1, maxLength: 12 }).map((lines) => `X-Test: y\r\n\r\n${lines.join('\r\n')}\r\n`);
const stuffed = (text: string) => text.replaceAll(/^\./gm, '..');

test('however the bytes are cut on their way, the message is the same', { timeout: 120_000 }, async (t) => {
  const { qd } = await mxScene(t);
  const taken: Buffer[] = [];
  const reception = {
    take: async ({ content }: InboundMessage) => {
      taken.push(content as Buffer);
      return 'msg_1';
    },
    store: async () => assert.fail('it is small'),
    discard: () => {},
    isFull: async () => false,
  };
  const book = makeDestinationLookup(qd.app, { read: () => undefined });
  const door = await startMxServer({ app: qd.app, book, reception, mailHost: 'mx.host.example' });
  t.after(() => door.stop(10_000));

  /** Several messages in one conversation: the door takes a tenth of a second to greet. */
  const send = async (texts: string[], cuts: number[]): Promise<string> => {
    const socket = connect(door.port, '127.0.0.1').setNoDelay(true);
    let heard = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (heard += piece));
    while (!heard.includes('220 ')) await once(socket, 'data');
    const said = texts.map((text) => `MAIL FROM:<a@far.example>\r\nRCPT TO:<support@in.example.com>\r\nDATA\r\n${stuffed(text)}.\r\n`);
    const bytes = Buffer.from(`EHLO far.example\r\n${said.join('')}QUIT\r\n`);
    const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
    for (const [n, from] of [0, ...places].entries()) {
      socket.write(bytes.subarray(from, places[n] ?? bytes.length));
      await new Promise(setImmediate);
    }
    await once(socket, 'close');
    return heard;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 4, maxLength: 4 }), fc.array(fc.nat(2_000), { maxLength: 48 }), async (texts, cuts) => {
      taken.length = 0;
      const heard = await send(texts, cuts);
      assert.equal(heard.match(/^250 2\.0\.0 Ok: msg_1\r\n/gm)?.length, texts.length, heard);
      assert.match(heard, /\r\n221 /);
      const raws = taken.map(String);
      assert.deepEqual(
        raws.map((raw) => raw.slice(raw.indexOf('X-Test'))),
        texts,
      );
    }),
    { numRuns: 10 },
  );
});
