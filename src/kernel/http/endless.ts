import type { ServerResponse } from 'node:http';
import { guarded } from '../faults/guarded.ts';

/** Where the pieces of an answer without an end go. */
export interface EventSink {
  /** What was written and has not left yet: it stays in memory. */
  readonly bufferedBytes: number;
  readonly isClosed: boolean;
  write(text: string): void;
  end(text: string): void;
  /** Ends the connection, whatever has not left. */
  cut(): void;
  onClose(act: () => void): void;
}

/** An answer to which pieces are added until one side ends it. `begin` is called once its head has been written. */
export class Endless {
  readonly begin: (sink: EventSink) => void;

  constructor(begin: (sink: EventSink) => void) {
    this.begin = begin;
  }
}

export class ResponseSink implements EventSink {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** After its end it does nothing: a slow reader's connection stays open for a while, and node makes an exception of a late piece. */
  write(text: string): void {
    if (!this.isClosed) this.#response.write(text);
  }

  end(text: string): void {
    if (!this.isClosed) this.#response.end(text);
  }

  cut(): void {
    this.#response.destroy();
  }

  onClose(act: () => void): void {
    this.#response.once('close', guarded('http.endless.close', this.#response, act));
  }
}
