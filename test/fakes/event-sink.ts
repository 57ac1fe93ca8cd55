import type { EventSink } from '../../src/kernel/http/endless.ts';

/** A reader that the test controls: it takes everything, or nothing any more. */
export function fakeSink() {
  const closers: (() => void)[] = [];
  const written: string[] = [];
  const state = { bufferedBytes: 0, isClosed: false, isCut: false };
  const close = () => {
    state.isClosed = true;
    for (const act of closers.splice(0)) act();
  };
  const sink: EventSink = {
    get bufferedBytes() {
      return state.bufferedBytes;
    },
    get isClosed() {
      return state.isClosed;
    },
    write: (text) => void written.push(text),
    end: (text) => {
      written.push(text);
      close();
    },
    cut: () => {
      state.isCut = true;
      close();
    },
    onClose: (act) => void closers.push(act),
  };
  return Object.assign(sink, { written, leave: close, state });
}
