import type { EventSink } from '../../../kernel/http/endless.ts';
import { beat, changed, deaf } from '../rules/events.ts';

/** What may wait in memory for a reader, beside what the operating system holds. */
const maxBufferedBytes = 4_096;

export type EndReason = 'left' | 'refused' | 'unread' | 'stopped';

/**
 * One open stream. Its reader may be slow: what does not fit is kept once each (the newest rights, that hints are missing, kinds), so it cannot
 * fill memory.
 */
export class Stream {
  /** Why it ended: its reader left, unless the server did it. */
  reason: EndReason = 'left';
  readonly #sink: EventSink;
  #heldBack: Set<string> | undefined;
  #heldRights: string | undefined;
  #isDeafHeld = false;
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

  get #isFull(): boolean {
    return this.#sink.bufferedBytes >= maxBufferedBytes;
  }

  /** The event that tells the rights of now: one that waits is replaced. */
  sendRights(text: string): void {
    if (this.#isFull || this.#heldRights !== undefined) this.#heldRights = text;
    else this.send(text);
  }

  /** Hints may be missing. Kinds that wait are dropped: told afterwards, they would say that the stream hears again. */
  sendDeaf(): void {
    this.#heldBack = undefined;
    if (this.#isFull) this.#isDeafHeld = true;
    else this.send(deaf);
  }

  /** Kinds that changed, with the event that says so. */
  sendChanged(kinds: readonly string[], text: string): void {
    if (!this.#heldBack && !this.#isDeafHeld && !this.#isFull) this.send(text);
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
    const held = this.#isFull ? '' : this.#takeHeld();
    if (held) this.send(held);
    else if (bufferedBytes === 0 && now - this.#sentAt >= beatMs) this.send(beat);
    return true;
  }

  #takeHeld(): string {
    const text = `${this.#heldRights ?? ''}${this.#isDeafHeld ? deaf : ''}${this.#heldBack ? changed([...this.#heldBack]) : ''}`;
    this.#heldRights = undefined;
    this.#isDeafHeld = false;
    this.#heldBack = undefined;
    return text;
  }

  /** With a last event. A reader who does not take it is cut off after that time. */
  end(reason: EndReason, text: string, unreadMs: number): void {
    this.reason = reason;
    this.#sink.end(text);
    const timer = setTimeout(() => this.#sink.cut(), unreadMs).unref();
    this.#sink.onClose(() => clearTimeout(timer));
  }

  cut(reason: EndReason): void {
    this.reason = reason;
    this.#sink.cut();
  }
}
