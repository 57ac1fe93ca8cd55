import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type Options, type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import type { Principal, Principals } from '../../../identity/principal.ts';
import { hashKey, mintKey } from '../../../identity/token-format.ts';
import type { SendableRow } from '../domains/store/domains.ts';
import type { Intake, Submission, SubmitRequest } from '../outbound/engine/submission.ts';
import { startSubmissionServer } from '../outbound/planes/smtp/index.ts';

/** A submission with its bytes, as they were stored. */
export type Stored = Omit<Submission, 'content'> & { bytes: Buffer; wasStreamed: boolean; idempotencyKey?: string };

/** An intake that keeps what it takes in memory. */
export function memoryIntake() {
  const stored: Stored[] = [];
  const hooks: { before?: (handed: SubmitRequest) => Promise<void> | void } = {};
  const intake: Intake = {
    accept: async (handed) => {
      await hooks.before?.(handed);
      const messages = [];
      for (const { content, ...rest } of handed.submissions) {
        const pieces: Buffer[] = [];
        if (Buffer.isBuffer(content)) pieces.push(content);
        else for await (const piece of content.stream) pieces.push(piece as Buffer);
        const key = handed.idempotency && { idempotencyKey: handed.idempotency.key };
        stored.push({ ...rest, ...key, bytes: Buffer.concat(pieces), wasStreamed: !Buffer.isBuffer(content) });
        messages.push({ id: `msg_${randomUUID()}`, messageId: rest.messageId });
      }
      return { messages, replayed: false };
    },
  };
  return { intake, stored, hooks };
}

/** Keys that exist because the test says so, until it revokes them. */
export function madeUpKeys() {
  const known = new Map<string, { principal: Principal; abort: AbortController }>();
  const find = (hash: Buffer) => known.get(hash.toString('hex'))?.principal;
  const principals: Principals = {
    find: (key, _accept, ask) => (ask ? ask(key, async () => find(hashKey(key))) : find(hashKey(key))),
    findByHash: (_kind, hash) => find(hash),
  };
  return {
    principals,
    mint: (options: { org?: string; domainIds?: string[]; entitled?: boolean } = {}) => {
      const { key, hash } = mintKey('mail');
      const abort = new AbortController();
      const keyId = `esk_${hash.toString('hex').slice(0, 16)}`;
      const principal: Principal = {
        kind: 'mail',
        id: `key_${keyId}`,
        actsAs: 'key',
        org: { id: options.org ?? 'org_a', slug: 'a' },
        entitlements: new Set(options.entitled === false ? [] : ['email']),
        grants: new Map() as never,
        scopes: [],
        customRoles: new Map() as never,
        access: { keyId, domainIds: options.domainIds ?? [] },
        topics: [],
        locks: [],
        isLikelyUnchanged: () => false,
        reload: async () => find(hash),
        goodUntil: Number.POSITIVE_INFINITY,
        lookAgain: async () => find(hash),
        signal: abort.signal,
      };
      known.set(hash.toString('hex'), { principal, abort });
      return { secret: key, keyId, id: principal.id };
    },
    revoke: (secret: string) => {
      const place = hashKey(secret).toString('hex');
      const { abort } = known.get(place)!;
      known.delete(place);
      abort.abort();
    },
    /** The cache forgot it, but it is still good. */
    forget: (secret: string) => {
      const place = hashKey(secret).toString('hex');
      const { principal, abort } = known.get(place)!;
      const fresh = new AbortController();
      known.set(place, { principal: { ...principal, signal: fresh.signal }, abort: fresh });
      abort.abort();
    },
  };
}

export const domains = new Map<string, SendableRow>([
  ['example.com', { id: 'dom_1', name: 'example.com', send_state: 'verified' }],
  ['other.example', { id: 'dom_2', name: 'other.example', send_state: 'verified' }],
  ['pending.example', { id: 'dom_3', name: 'pending.example', send_state: 'pending' }],
]);

/** The SMTP door of a real server, with an intake, keys and domains of the test's own. */
export async function smtpDoor(t: TestContext, options: Options = {}) {
  const server: Quarterdeck = await quarterdeck(t, options);
  const keys = madeUpKeys();
  const { intake, stored, hooks } = memoryIntake();
  const door = await startSubmissionServer({
    app: server.app,
    intake,
    principals: keys.principals,
    domains: { findSendable: async (_org, _ids, name) => domains.get(name) },
    used: () => {},
    mailHost: 'mail.example.com',
  });
  t.after(() => door.stop(10_000));
  const [port, securePort] = door.ports as [number, number];
  return { server, keys, stored, hooks, port, securePort, door, speak: () => speakSmtp(t, port) };
}

/** Speaks SMTP word by word. */
export interface Speaker {
  socket: Socket;
  /** The next whole answer, with all its lines. */
  hear(): Promise<string>;
  /** Says it as it is, CR LF behind it, and gives the answer. */
  say(line: string): Promise<string>;
  /** Logs in, and says MAIL, RCPT and DATA; gives the answer to DATA. */
  beginMessage(secret: string, to?: string[]): Promise<string>;
  closed: Promise<void>;
}

export async function speakSmtp(t: TestContext, port: number): Promise<Speaker> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  // Not `once` of node:events, which rejects at an error: a server that is killed before it has read everything resets the connection.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  let text = '';
  let wake = () => {};
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
    wake();
  });
  void closed.then(() => wake());
  const hear = async (): Promise<string> => {
    for (;;) {
      const whole = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3} [^\r\n]*\r\n/.exec(text)?.[0];
      if (whole) {
        text = text.slice(whole.length);
        return whole.trimEnd();
      }
      if (socket.destroyed) return `(closed) ${text}`;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const say = (line: string) => {
    socket.write(`${line}\r\n`, 'latin1');
    return hear();
  };
  const beginMessage = async (secret: string, to = ['bob@far.example']) => {
    await say('EHLO client.example');
    await say(`AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`);
    await say('MAIL FROM:<ada@example.com>');
    for (const each of to) await say(`RCPT TO:<${each}>`);
    return say('DATA');
  };
  await hear();
  return { socket, hear, say, beginMessage, closed };
}
