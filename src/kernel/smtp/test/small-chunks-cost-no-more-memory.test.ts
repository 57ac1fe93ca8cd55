import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataReader } from '../data-reader.ts';
import { type Message, type MessageLimits, ReceivedMessage } from '../message.ts';
import { makeUpDoor, settle } from './made-up-door.ts';

const begin = 'EHLO far.example\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n';
const expected: MessageLimits = { mostBytes: 2_000_000, gatheredBytes: 1_000_000, hold: () => true, end: () => {} };

test('of what is said at once, only a chunk and a line are held, and each byte is copied once at most', async (t) => {
  const door = makeUpDoor({ mostCommands: Number.POSITIVE_INFINITY });
  await settle();
  const greeted = door.wire.heard.length;
  const [command, answer] = ['NOOP\r\n', '250 2.0.0 OK\r\n'];
  const chunk = 65_536;
  const all = Buffer.from(command.repeat(Math.ceil((16 * chunk) / command.length)));
  const concat = t.mock.method(Buffer, 'concat').mock;
  for (let at = 0; at < all.length; at += chunk) door.wire.push(all.subarray(at, at + chunk));

  let mostHeld = 0;
  let answered = 0;
  for (let turn = 0; answered < all.length && turn < 10_000; turn++) {
    await new Promise(setImmediate);
    answered = ((door.wire.heard.length - greeted) / answer.length) * command.length;
    mostHeld = Math.max(mostHeld, all.length - door.wire.readableLength - answered);
  }
  assert.equal(answered, all.length);
  assert.ok(mostHeld <= chunk + 2_048, `${mostHeld} bytes were held`);
  const ofCommands = concat.calls.map(({ result }) => result!).filter((bytes) => bytes.includes('NOOP'));
  const copied = ofCommands.reduce((sum, bytes) => sum + bytes.length, 0);
  assert.ok(copied <= all.length + 16 * 2_048, `${copied} bytes were copied for ${all.length}`);
});

test('lines that begin with a dot are one piece a chunk', () => {
  const added: Buffer[] = [];
  const reader = new DataReader();
  const lines = Buffer.from('..\r\n'.repeat(10_000));
  for (let n = 0; n < 3; n++) assert.equal(reader.read(lines, { add: (piece) => void added.push(piece) }), -1);
  assert.equal(added.length, 3);
  assert.equal(Buffer.concat(added).toString(), '.\r\n'.repeat(30_000));
});

test('a message that comes byte by byte is held in one piece', () => {
  const message = new ReceivedMessage(expected);
  for (let n = 0; n < 100_000; n++) message.add(Buffer.from('x'));
  const { pieces } = message.buffered();
  assert.equal(pieces.length, 1);
  assert.equal(pieces[0]!.length, 100_000);
});

test('so are the bytes that wait for the reader of a large message', async () => {
  let handed: Message | undefined;
  const asked = Promise.withResolvers<string>();
  const takeMessage = (message: Message) => {
    handed = message;
    return asked.promise;
  };
  const door = makeUpDoor({ visit: { takeMessage } });
  await door.say(begin, 'x'.repeat(1_001));
  let sent = 0;
  for (; !door.wire.isPaused() && sent < 200_000; sent++) door.wire.push(Buffer.from('x'));
  assert.ok(sent < 70_000, `${sent} bytes were accepted while the reader was idle`);
  door.wire.push(Buffer.from('\r\n.\r\n'));
  let pieces = 0;
  let bytes = 0;
  for await (const piece of handed!.rest!) {
    pieces++;
    bytes += (piece as Buffer).length;
  }
  asked.resolve('2.0.0 Ok');
  await settle();
  assert.equal(bytes, sent + 2);
  assert.ok(pieces < 10, `they were kept in ${pieces} pieces`);
  assert.match(door.wire.heard, /250 2\.0\.0 Ok\r\n$/);
});

test('a message that came in one chunk is not copied', () => {
  const bytes = 3_000;
  const chunk = Buffer.from(new ArrayBuffer(bytes + 3));
  chunk.fill(`${'x'.repeat(98)}\r\n`, 0, bytes);
  chunk.write('.\r\n', bytes);
  const message = new ReceivedMessage(expected);
  assert.equal(new DataReader().read(chunk, message), chunk.length);
  const { pieces } = message.buffered();
  assert.equal(pieces[0]!.buffer, chunk.buffer);
  assert.equal(pieces[0]!.length, bytes);
});
