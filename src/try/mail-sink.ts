import type { Logger } from '../kernel/log.ts';
import { type Message, makeConnectionSlots, makeSmtpServer, Reply, type SessionHandler } from '../kernel/smtp/index.ts';
import { alwaysPresent } from '../kernel/tls/index.ts';
import { wallClock } from '../kernel/wall-clock.ts';
import type { Certificate } from '../kernel/x509/certificate.ts';
import { BoundedList } from './bounded-list.ts';
import { sinkHost } from './dns.ts';

/** A message that the sink took. */
export interface InboxMessage {
  id: number;
  from: string;
  to: readonly string[];
  at: string;
  raw: Buffer;
}

export type Inbox = BoundedList<InboxMessage>;

export const inboxLimits = { messages: 500, bytes: 32 * 2 ** 20 };
/** A message is refused when it alone would fill the inbox. */
const maxMessageBytes = inboxLimits.bytes;
/** Bytes of messages that are still arriving. */
const maxArrivingBytes = 64 * 2 ** 20;

export const makeInbox = (): Inbox => new BoundedList<InboxMessage>(inboxLimits.messages, inboxLimits.bytes);

export interface MailSink {
  port: number;
  stop(): Promise<void>;
}

/** Messages that are arriving when it stops have this long. */
const stopMs = 1_000;

/** A mail server on loopback that takes every message and keeps it in the inbox. */
export async function startMailSink(inbox: Inbox, certificate: Certificate, log: Logger): Promise<MailSink> {
  const arriving = { bytes: 0 };
  const server = makeSmtpServer({
    tls: alwaysPresent(certificate),
    log,
    door: 'try',
    name: sinkHost,
    mostBytes: maxMessageBytes,
    placeOf: () => 'loopback',
    idleMs: 60_000,
    greetAfterMs: 0,
    mostCommands: 10_000,
    isSecure: false,
    room: makeConnectionSlots({ each: 200, all: 200 }),
    open: () => takeEverything(inbox, arriving),
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 }, 'nothing: the system chooses its port');
  return { port, stop: () => server.stop(stopMs) };
}

function takeEverything(inbox: Inbox, arriving: { bytes: number }): SessionHandler {
  let envelope = { from: '', to: [] as string[] };
  return {
    begin() {},
    beginMessage({ address }) {
      envelope = { from: address, to: [] };
    },
    addRecipient(address) {
      if (envelope.to.length >= 1_000) throw new Reply(452, '4.5.3', 'too many recipients');
      envelope.to.push(address);
    },
    expectMessage() {
      let held = 0;
      return {
        mostBytes: maxMessageBytes,
        gatheredBytes: maxMessageBytes,
        hold(bytes) {
          if (arriving.bytes + bytes > maxArrivingBytes) return false;
          arriving.bytes += bytes;
          held += bytes;
          return true;
        },
        end() {
          arriving.bytes -= held;
          held = 0;
        },
      };
    },
    takeMessage({ pieces }: Message) {
      const raw = Buffer.concat(pieces);
      const { id } = inbox.add({ ...envelope, at: wallClock().toISOString(), raw }, raw.length);
      return Promise.resolve(`taken as ${id}; read it at /try/inbox/${id}`);
    },
    end() {},
  };
}
