import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createSecureContext, TLSSocket } from 'node:tls';

/** Where a mail server can misbehave. */
export type SinkStage = 'greeting' | 'ehlo' | 'helo' | 'starttls' | 'auth' | 'rset' | 'mail' | 'rcpt' | 'data' | 'dot';

/** What it does instead of a good answer. */
export type Misbehaviour =
  /** These bytes; CRLF is added to a text without one. */
  | string
  | { raw: string }
  /** Says nothing, for ever. */
  | 'stall'
  | 'reset'
  | 'close'
  /** The answer, one byte every so many milliseconds. */
  | { drip: string; everyMs: number }
  /** Never ends its answer: `250-…` for ever, or a line without an end. */
  | 'endless lines'
  | 'endless line';

export interface SinkMessage {
  from: string;
  to: string[];
  /** As it came over the wire, dots undone. */
  data: Buffer;
  tls: boolean;
  /** The session that brought it, counted from 1. */
  session: number;
  user?: string;
}

export interface SinkManner {
  /** What EHLO offers beside STARTTLS and AUTH. */
  offers?: string[];
  /** Knows HELO alone. */
  helloOnly?: boolean;
  certificate?: { cert: string; key: string };
  /** Speaks TLS from the first byte. */
  implicitTls?: boolean;
  /** Agrees to STARTTLS and then talks nonsense. */
  brokenTls?: boolean;
  auth?: { user: string; password: string; methods?: string[] };
  /** Asked at each step, with the command; undefined means a good answer. */
  at?: (stage: SinkStage, line: string, session: number) => Misbehaviour | undefined;
  /** Ends a session after so many messages with 421. */
  mostMessages?: number;
  host?: string;
  /** Keeps only the count of messages: for measuring. */
  forget?: boolean;
}

export interface SmtpSink {
  port: number;
  messages: SinkMessage[];
  count: number;
  /** Sessions since the start, and those that are open. */
  sessions: number;
  readonly open: number;
  mostOpen: number;
  /** Every command line that came, of all sessions. */
  commands: string[];
  /** Reads as many commands as came in one chunk: what was pipelined. */
  chunks: string[];
  behave(manner: SinkManner): void;
  /** Until so many messages came. */
  received(count: number): Promise<SinkMessage[]>;
  close(): void;
}

/** A small real mail server (RFC 5321) on loopback that misbehaves on demand. */
export async function smtpSink(t: TestContext | undefined, first: SinkManner = {}): Promise<SmtpSink> {
  let manner = first;
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  const sink: SmtpSink = {
    port: 0,
    messages: [],
    count: 0,
    sessions: 0,
    get open() {
      return sockets.size;
    },
    mostOpen: 0,
    commands: [],
    chunks: [],
    behave: (next) => {
      manner = next;
    },
    received: async (count) => {
      while (sink.count < count) await new Promise<void>((resolve) => waiting.add(resolve));
      return sink.messages;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    sink.sessions += 1;
    sink.mostOpen = Math.max(sink.mostOpen, sockets.size);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    new SinkSession(sink, manner, socket, sink.sessions, () => {
      for (const resolve of waiting) resolve();
      waiting.clear();
    }).begin();
  });
  server.listen(0, first.host ?? '127.0.0.1');
  await once(server, 'listening');
  sink.port = (server.address() as AddressInfo).port;
  t?.after(sink.close);
  return sink;
}

class SinkSession {
  readonly sink: SmtpSink;
  readonly manner: SinkManner;
  readonly number: number;
  readonly told: () => void;
  socket: Socket;
  buffered: Buffer = Buffer.alloc(0);
  mode: 'commands' | 'data' | 'login' | 'deaf' = 'commands';
  mail: { from: string; to: string[] } | undefined;
  user: string | undefined;
  loginLines: string[] = [];
  isSecure = false;
  delivered = 0;

  constructor(sink: SmtpSink, manner: SinkManner, socket: Socket, number: number, told: () => void) {
    this.sink = sink;
    this.manner = manner;
    this.socket = socket;
    this.number = number;
    this.told = told;
  }

  begin() {
    if (this.manner.implicitTls) this.secure();
    else this.listen();
    this.answer('greeting', '', '220 sink.example ESMTP');
  }

  listen() {
    this.socket.on('data', (chunk: Buffer) => this.read(chunk));
  }

  secure() {
    const plain = this.socket;
    plain.removeAllListeners('data');
    const { cert, key } = this.manner.certificate!;
    const secure = new TLSSocket(plain, { isServer: true, secureContext: createSecureContext({ cert, key }) });
    secure.on('error', () => plain.destroy());
    this.socket = secure;
    this.isSecure = true;
    this.mail = undefined;
    this.listen();
  }

  read(chunk: Buffer) {
    if (this.mode === 'deaf') return;
    if (this.mode !== 'data' && !this.manner.forget) this.sink.chunks.push(chunk.toString('latin1'));
    this.buffered = this.buffered.length === 0 ? chunk : Buffer.concat([this.buffered, chunk]);
    for (;;) {
      if (this.mode === 'data') {
        if (!this.readData()) return;
        continue;
      }
      const end = this.buffered.indexOf('\r\n');
      if (end < 0 || (this.mode as string) === 'deaf') return;
      const line = this.buffered.toString('utf8', 0, end);
      this.buffered = this.buffered.subarray(end + 2);
      if (!this.manner.forget) this.sink.commands.push(line);
      if (this.mode === 'login') this.login(line);
      else this.command(line);
    }
  }

  /** True once the message is whole. */
  readData(): boolean {
    const isEmpty = this.buffered.subarray(0, 3).equals(Buffer.from('.\r\n'));
    const end = isEmpty ? 0 : this.buffered.indexOf('\r\n.\r\n');
    if (end < 0) return false;
    const stuffed = this.buffered.subarray(0, isEmpty ? 0 : end + 2);
    this.buffered = this.buffered.subarray(end + (isEmpty ? 3 : 5));
    this.mode = 'commands';
    const mail = this.mail ?? { from: '', to: [] };
    this.mail = undefined;
    const isTaken = this.answer(
      'dot',
      mail.to.join(','),
      mail.to.length > 0 ? `250 2.0.0 taken as ${this.sink.count + 1}` : '554 5.5.1 no valid recipients',
    );
    if (!isTaken || mail.to.length === 0) return true;
    this.sink.count += 1;
    this.delivered += 1;
    if (!this.manner.forget) {
      const data = Buffer.from(stuffed.toString('latin1').replace(/^\./gm, ''), 'latin1');
      const user = this.user === undefined ? {} : { user: this.user };
      this.sink.messages.push({ ...mail, data, tls: this.isSecure, session: this.number, ...user });
    }
    this.told();
    if (this.delivered === this.manner.mostMessages) {
      this.say('421 4.7.0 enough for one session');
      this.socket.end();
      this.mode = 'deaf';
    }
    return true;
  }

  command(line: string) {
    const verb = line.split(' ')[0]!.toUpperCase();
    const address = /<([^>]*)>/.exec(line)?.[1] ?? '';
    if (verb === 'EHLO') return this.ehlo(line);
    if (verb === 'HELO') return this.answer('helo', line, '250 sink.example');
    if (verb === 'STARTTLS') return this.startTls(line);
    if (verb === 'AUTH') return this.auth(line);
    if (verb === 'RSET') {
      this.mail = undefined;
      return this.answer('rset', line, '250 2.0.0 ok');
    }
    if (verb === 'MAIL') {
      if (this.mail) return this.say('503 5.5.1 nested MAIL');
      if (this.answer('mail', line, '250 2.1.0 ok')) this.mail = { from: address, to: [] };
      return;
    }
    if (verb === 'RCPT') {
      if (!this.mail) return this.say('503 5.5.1 no MAIL yet');
      if (this.answer('rcpt', line, '250 2.1.5 ok')) this.mail.to.push(address);
      return;
    }
    if (verb === 'DATA') {
      if (!this.mail?.to.length && !this.manner.at?.('data', line, this.number)) return this.say('503 5.5.1 no valid recipients');
      if (this.answer('data', line, '354 go on')) this.mode = 'data';
      return;
    }
    if (verb === 'QUIT') {
      this.say('221 2.0.0 bye');
      return void this.socket.end();
    }
    this.say('502 5.5.2 unknown command');
  }

  ehlo(line: string) {
    if (this.manner.helloOnly) return this.say('502 5.5.2 unknown command');
    const { offers = ['PIPELINING', 'SIZE 52428800', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'], auth, certificate } = this.manner;
    const all = ['sink.example', ...offers];
    if ((certificate || this.manner.brokenTls) && !this.isSecure) all.push('STARTTLS');
    if (auth) all.push(`AUTH ${(auth.methods ?? ['PLAIN', 'LOGIN']).join(' ')}`);
    return this.answer('ehlo', line, all.map((word, at) => `250${at === all.length - 1 ? ' ' : '-'}${word}`).join('\r\n'));
  }

  startTls(line: string) {
    if (!this.answer('starttls', line, '220 2.0.0 go on')) return;
    if (this.manner.brokenTls) {
      this.mode = 'deaf';
      this.socket.write('this is not TLS at all, and never was\r\n');
    } else this.secure();
  }

  auth(line: string) {
    const [, method, initial] = line.split(' ');
    if (method === 'PLAIN') {
      const [, user, password] = Buffer.from(initial ?? '', 'base64')
        .toString()
        .split('\0');
      return this.judge(line, user, password);
    }
    this.mode = 'login';
    this.loginLines = [];
    this.say('334 VXNlcm5hbWU6');
  }

  login(line: string) {
    this.loginLines.push(Buffer.from(line, 'base64').toString());
    if (this.loginLines.length < 2) return this.say('334 UGFzc3dvcmQ6');
    this.mode = 'commands';
    this.judge('AUTH', this.loginLines[0], this.loginLines[1]);
  }

  judge(line: string, user: string | undefined, password: string | undefined) {
    const { auth } = this.manner;
    if (user !== auth?.user || password !== auth?.password) return this.say('535 5.7.8 wrong user name or password');
    if (this.answer('auth', line, '235 2.7.0 welcome')) this.user = user;
  }

  say(text: string) {
    if (!this.socket.destroyed) this.socket.write(`${text}\r\n`);
  }

  /** True if the answer was a good one. */
  answer(stage: SinkStage, line: string, good: string): boolean {
    const instead = this.manner.at?.(stage, line, this.number);
    if (instead === undefined) this.say(good);
    else this.misbehave(instead);
    return instead === undefined || (typeof instead === 'string' && /^[23]\d\d[ -]/.test(instead));
  }

  misbehave(instead: Misbehaviour) {
    if (typeof instead === 'object' && 'raw' in instead) return void this.socket.write(instead.raw);
    if (typeof instead === 'object') return this.drip(instead.everyMs, [...`${instead.drip}\r\n`]);
    if (instead === 'stall') this.mode = 'deaf';
    else if (instead === 'reset') this.socket.resetAndDestroy();
    else if (instead === 'close') this.socket.end();
    else if (instead === 'endless lines') this.flood('250-and so on\r\n');
    else if (instead === 'endless line') this.flood('250 and so on and so on and so on ');
    else this.say(instead);
  }

  drip(everyMs: number, bytes: string[]) {
    this.mode = 'deaf';
    const timer = setInterval(() => {
      const next = bytes.shift();
      if (next === undefined || this.socket.destroyed) clearInterval(timer);
      else this.socket.write(next);
    }, everyMs);
    this.socket.on('close', () => clearInterval(timer));
  }

  flood(text: string) {
    this.mode = 'deaf';
    const more = () => {
      while (!this.socket.destroyed && this.socket.write(text.repeat(100)));
    };
    this.socket.on('drain', more);
    more();
  }
}
