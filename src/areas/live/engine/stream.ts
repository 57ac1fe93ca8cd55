import type { EventSink } from '../../../kernel/http/endless.ts';
import { beat, changed } from '../rules/events.ts';

/** What may wait in memory for a reader, beside what the operating system holds. */
const maxBufferedBytes = 4_096;

export type EndReason = 'left' | 'refused' | 'unread' | 'stopped';

/** One open stream. Its reader may be slow: hints that do not fit are kept as kinds, each once, so they cannot fill memory. */
export class Stream {
  /** Why it ended: its reader left, unless the server did it. */
  reason: EndReason = 'left';
  readonly #sink: EventSink;
  #heldBack: Set<string> | undefined;
  #sentAt = performance.now();
  /** Since when something waits to leave, as far as it was looked at. */
  #waitingSince: number | undefined;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  onClose(act: () => void): void {
    this.#sink.onClose(act);
  }

  /** An event that there is once. */
  send(text: string): void {
    this.#sentAt = performance.now();
    this.#sink.write(text);
  }

  /** Kinds that changed, with the event that says so. */
  sendChanged(kinds: readonly string[], text: string): void {
    if (!this.#heldBack && this.#sink.bufferedBytes < maxBufferedBytes) this.send(text);
    else {
      this.#heldBack ??= new Set();
      for (const kind of kinds) this.#heldBack.add(kind);
    }
  }

  /** Called every second. False: it has not been read for too long. */
  keep(now: number, { beatMs, unreadMs }: { beatMs: number; unreadMs: number }): boolean {
    const { bufferedBytes } = this.#sink;
    if (bufferedBytes === 0) this.#waitingSince = undefined;
    else this.#waitingSince ??= now;
    if (this.#waitingSince !== undefined && now - this.#waitingSince >= unreadMs) return false;
    if (this.#heldBack && bufferedBytes < maxBufferedBytes) {
      const kinds = [...this.#heldBack];
      this.#heldBack = undefined;
      this.send(changed(kinds));
    } else if (bufferedBytes === 0 && now - this.#sentAt >= beatMs) this.send(beat);
    return true;
  }

  end(reason: EndReason, text: string): void {
    this.reason = reason;
    this.#sink.end(text);
  }

  cut(reason: EndReason): void {
    this.reason = reason;
    this.#sink.cut();
  }
}
