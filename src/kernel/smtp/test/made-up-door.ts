import { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { Logger } from '../../log.ts';
import type { Message } from '../message.ts';
import { Session, type SessionOptions } from '../session.ts';
import type { SessionHandler } from '../session-handler.ts';

/** One end of a connection without a network: bytes arrive exactly in the given chunks. */
class Wire extends Duplex {
  heard = '';
  remoteAddress = '127.0.0.1';
  /** Whether the client reads the replies. */
  isDeaf = false;
  /** How often the session restarted the idle timer. */
  timesSet = 0;
  #untaken: (() => void) | undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const take = () => {
      this.heard += chunk.toString('latin1');
      done();
    };
    if (this.isDeaf) this.#untaken = take;
    else take();
  }

  listenAgain(): void {
    this.isDeaf = false;
    this.#untaken?.();
    this.#untaken = undefined;
  }

  setTimeout(): this {
    this.timesSet++;
    return this;
  }
}

export interface Taken {
  sender: string;
  to: string[];
  text: string;
}

const read = async ({ pieces, rest }: Message): Promise<string> => {
  const all = [...pieces];
  if (rest) for await (const piece of rest) all.push(piece as Buffer);
  return Buffer.concat(all).toString('latin1');
};

/** A session whose handler accepts everything, and records it. */
export function makeUpDoor(change: Partial<SessionOptions> & { visit?: Partial<SessionHandler> } = {}) {
  const wire = new Wire();
  const taken: Taken[] = [];
  const counts = { expected: 0, ended: 0, left: 0 };
  let sender = '';
  let to: string[] = [];
  const visit: SessionHandler = {
    begin: () => {},
    beginMessage: ({ address }) => {
      sender = address;
      to = [];
    },
    addRecipient: (address) => void to.push(address),
    expectMessage: () => {
      counts.expected++;
      return { mostBytes: 100_000, gatheredBytes: 1_000, hold: () => true, end: () => counts.ended++ };
    },
    takeMessage: async (message) => {
      taken.push({ sender, to, text: await read(message) });
      return `2.0.0 Ok: ${taken.length}`;
    },
    end: () => {},
    ...change.visit,
  };
  const session = new Session(wire as never, false, {
    door: 'test',
    log: { debug: () => {}, error: () => {} } as unknown as Logger,
    name: 'mx.example.com',
    mostBytes: 100_000,
    greetAfterMs: 0,
    idleMs: 60_000,
    mostCommands: 1_000,
    open: () => visit,
    tls: { context: () => ({}) as SecureContext, chooseByName: (_name, done) => done(null) },
    isStopping: () => false,
    onKnown: () => {},
    onClosed: () => counts.left++,
    ...change,
  });
  return {
    wire,
    session,
    taken,
    counts,
    /** Sends these chunks, one after the other. */
    async say(...pieces: (string | Buffer)[]): Promise<string> {
      for (const piece of pieces) {
        wire.push(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
        await new Promise(setImmediate);
      }
      await settle();
      return wire.heard.slice(0);
    },
  };
}

/** Until all pending work is done. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}
