import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DataReader } from '../data-reader.ts';
import { makeUpDoor } from './made-up-door.ts';

const cutAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, n) => bytes.subarray(from, places[n] ?? bytes.length)).filter((piece) => piece.length > 0);
};
const cuts = fc.array(fc.nat(5_000), { maxLength: 20 });

test('the end of a message and its dots are found wherever the bytes are cut', () => {
  const noise = fc
    .array(fc.constantFrom('\r', '\n', '.', '\r\n', '\r\n.', '\r\n..', 'a'), { maxLength: 40 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(noise, fc.constantFrom('\r\n.\r\n', ''), noise, cuts, (before, end, after, places) => {
      const text = `${before}${end}${after}`;
      // RFC 5321 4.5.2 applied to the whole at once; the line end before it is the one of DATA.
      const found = `\r\n${text}`.indexOf('\r\n.\r\n');
      const content =
        found < 0
          ? undefined
          : `\r\n${text}`
              .slice(0, found + 2)
              .replaceAll('\r\n.', '\r\n')
              .slice(2);

      const reader = new DataReader();
      const read: Buffer[] = [];
      let rest: string | undefined;
      const pieces = cutAt(Buffer.from(text, 'latin1'), places);
      for (const [n, piece] of pieces.entries()) {
        const at = reader.read(piece, { add: (part) => void read.push(part) });
        if (at < 0) continue;
        rest = Buffer.concat([piece.subarray(at), ...pieces.slice(n + 1)]).toString('latin1');
        break;
      }
      if (content === undefined) return assert.equal(rest, undefined, 'it has not ended');
      assert.equal(Buffer.concat(read).toString('latin1'), content);
      assert.equal(rest, `\r\n${text}`.slice(found + 5));
    }),
    { numRuns: 3_000 },
  );
});

test('whatever a client says, in whatever pieces, it hears the same', async () => {
  const line = fc
    .array(fc.constantFrom('a', '.', '..', ' ', 'RSET', 'é', 'x'.repeat(400)), { maxLength: 5 })
    .map((parts) => parts.join(''));
  const body = fc.array(line, { maxLength: 8 }).map((lines) => lines.map((each) => `${each.replace(/^\./, '..')}\r\n`).join(''));
  const letter = body.map((text) => `MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n${text}.\r\n`);
  const command = fc.constantFrom(
    ...['EHLO far.example\r\n', 'NOOP\r\n', 'RSET\r\n', 'noop\n', 'VRFY\r\n', 'VRFY a@b.example\r\n', 'DATA\r\n', 'HELP\r\n', '\r\n'],
    ...['MAIL FROM:<a@b.example> SIZE=10\r\n', 'MAIL FROM:nobody\r\n', 'MAIL FROM:<> SIZE=999999\r\n', 'RCPT TO:<c@d.example>\r\n'],
    ...['RCPT TO:<@route.example:c@d.example>\r\n', 'MAIL FROM:<a\0@b.example>\r\n', 'STARTTLS now\r\n', 'AUTH PLAIN AAAA\r\n'],
  );
  const said = fc.array(fc.oneof({ weight: 2, arbitrary: command }, letter), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(said, cuts, async (lines, places) => {
      const bytes = Buffer.from(`EHLO far.example\r\n${lines.join('')}QUIT\r\n`);
      const [whole, parted] = [makeUpDoor(), makeUpDoor()];
      const heard = await whole.say(bytes);
      assert.equal(await parted.say(...cutAt(bytes, places)), heard);
      assert.deepEqual(parted.taken, whole.taken);
      assert.deepEqual(parted.counts, whole.counts);
    }),
    { numRuns: 150 },
  );
});
