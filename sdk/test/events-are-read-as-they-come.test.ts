import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LiveEvent, readEvents, UnreachableError } from '../index.ts';

const streamOf = (...pieces: string[]) =>
  new Response(
    ReadableStream.from(
      (async function* () {
        for (const piece of pieces) yield new TextEncoder().encode(piece);
      })(),
    ),
  );

async function eventsOf(response: Response): Promise<LiveEvent[]> {
  const events: LiveEvent[] = [];
  for await (const event of readEvents(response)) events.push(event);
  return events;
}

test('events are read whole, however they were cut on the way', async () => {
  const text =
    'retry: 700\r\nevent: hello\r\ndata: {"kinds":["a.b","ü"]}\r\n\r\n: beat\n\nevent: deaf\ndata: {}\n\nevent: changed\ndata: {"kinds":\ndata: []}\n\n';
  const expected = [
    { name: 'hello', data: { kinds: ['a.b', 'ü'] } },
    { name: 'beat', data: {} },
    { name: 'deaf', data: {} },
    { name: 'changed', data: { kinds: [] } },
  ];
  assert.deepEqual(await eventsOf(streamOf(text)), expected);
  assert.deepEqual(await eventsOf(streamOf(...text)), expected);
  assert.deepEqual(await eventsOf(streamOf(`${text}event: cut off`)), expected, 'half an event is none');
  assert.deepEqual(await eventsOf(new Response(null)), []);
});

test('what is no stream of events is refused in words, and fills no memory', async () => {
  await assert.rejects(eventsOf(streamOf('event: x\ndata: no JSON\n\n')), UnreachableError);
  let sent = 0;
  const endless = new Response(
    new ReadableStream({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(120));
      },
    }),
  );
  await assert.rejects(eventsOf(endless), /without an end/);
  assert.ok(sent < 1024 * 1024, `${sent} bytes were taken`);
});

test('leaving the loop closes the stream', async () => {
  let isClosed = false;
  const response = new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('event: a\ndata: {}\n\nevent: b\ndata: {}\n\n')),
      cancel: () => {
        isClosed = true;
      },
    }),
  );
  for await (const { name } of readEvents(response)) {
    assert.equal(name, 'a');
    break;
  }
  assert.ok(isClosed);
});
