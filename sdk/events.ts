import { UnreachableError } from './errors.ts';

/** An event of `api.live.streamEvents()`; what each means is told at GET /events. */
export interface LiveEvent {
  name: string;
  /** Such as `{ kinds }` of `hello`, `changed` and `rights`. */
  data: Record<string, unknown>;
}

/** An event is some hundred bytes; a sender without line ends would fill memory. */
const maxBufferedLength = 256 * 1024;

/**
 * The events of a stream, until it ends. Comments, which only say that it is alive, are `beat` events without data. Breaking out of the loop
 * closes the stream.
 */
export async function* readEvents(response: Response): AsyncGenerator<LiveEvent, void> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value.replaceAll('\r', '');
      const blocks = rest.split('\n\n');
      rest = blocks.pop()!;
      if (rest.length > maxBufferedLength) throw new UnreachableError('the server sends an event without an end');
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parse(block: string): LiveEvent | undefined {
  let name = '';
  let text = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) name = line.slice(6).trim();
    if (line.startsWith('data:')) text += line.slice(5).trim();
  }
  if (!name) return block.startsWith(':') ? { name: 'beat', data: {} } : undefined;
  try {
    const data: unknown = JSON.parse(text || '{}');
    return { name, data: typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {} };
  } catch {
    throw new UnreachableError(`the server sends an event that is no JSON: ${name}`);
  }
}
