import type { Readable } from 'node:stream';
import type { SmtpConnection } from './connection.ts';
import { type Content, DotStuffer, wholeMessage } from './dot-stuffing.ts';
import type { SmtpFailure, Stage } from './failure.ts';
import type { Reply } from './replies.ts';

/** The server's EHLO extensions that we use. */
export interface ServerExtensions {
  pipelining: boolean;
  eightBit: boolean;
  utf8: boolean;
  startTls: boolean;
  /** Largest message in bytes; 0: not announced. */
  size: number;
  auth: string[];
}

export function readExtensions(reply: Reply | undefined): ServerExtensions {
  const words = (reply?.lines ?? []).slice(1).map((line) => line.trim().toUpperCase().split(/[ =]+/));
  const offered = new Map(words.map(([name = '', ...rest]) => [name, rest]));
  const size = Number(offered.get('SIZE')?.[0] ?? 0);
  return {
    pipelining: offered.has('PIPELINING'),
    eightBit: offered.has('8BITMIME'),
    utf8: offered.has('SMTPUTF8'),
    startTls: offered.has('STARTTLS'),
    size: Number.isSafeInteger(size) && size > 0 ? size : 0,
    auth: offered.get('AUTH') ?? [],
  };
}

export interface Envelope {
  from: string;
  to: string;
  bytes: number;
}

/** The deciding reply and the step that it answered. */
export interface Decision {
  stage: Stage;
  reply: Reply;
}

export interface RemoteServer {
  host: string;
  address: string;
  tls: string | undefined;
}

/** Larger messages are written in chunks, since one buffer would double their memory. */
const maxSingleWriteBytes = 64 * 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the command, or the address in it
const unsafeInCommand = /[\u0000-\u001f\u007f<>]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII
const beyondAscii = /[^\u0000-\u007f]/;

const localRefusal = (stage: Stage, code: number, enhanced: string, text: string): Decision => ({
  stage,
  reply: { code, enhanced, text, lines: [text] },
});

/** An open client session: messages in sequence, one recipient each. */
export class Session {
  readonly extensions: ServerExtensions;
  readonly remote: RemoteServer;
  readonly #connection: SmtpConnection;
  /** A transaction is unfinished, so the next message starts with RSET. */
  #inTransaction = false;
  sent = 0;

  constructor(connection: SmtpConnection, extensions: ServerExtensions, whereabouts: RemoteServer) {
    this.#connection = connection;
    this.extensions = extensions;
    this.remote = whereabouts;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  set onEnd(listener: () => void) {
    this.#connection.onEnd = listener;
  }

  /** Sends one message and returns the server's decision. Throws SmtpFailure when the session ends without one. */
  async deliver(envelope: Envelope, content: () => Promise<Content>): Promise<Decision> {
    const refused = this.#refuseLocally(envelope);
    if (refused !== undefined) return refused;
    this.sent += 1;
    // Fetched in parallel with the envelope. A failure surfaces when the content is needed.
    const fetched = content();
    fetched.catch(() => {});
    try {
      const decision = await this.#sendEnvelope(envelope);
      if (decision?.stage === 'rset') throw this.#connection.fail('protocol', `${this.remote.host} refuses to begin anew (RSET)`);
      if (decision !== undefined) {
        discard(fetched);
        return decision;
      }
    } catch (error) {
      discard(fetched);
      throw error;
    }
    const dot = await this.#sendContent(fetched);
    this.#inTransaction = false;
    return { stage: 'dot', reply: dot };
  }

  /** Refuses locally what the server's extensions already rule out. */
  #refuseLocally({ from, to, bytes }: Envelope): Decision | undefined {
    const { extensions, remote: whereabouts } = this;
    if (unsafeInCommand.test(to) || unsafeInCommand.test(from)) {
      return localRefusal('rcpt', 553, '5.1.3', 'the address holds characters that no mail server takes');
    }
    if (extensions.size > 0 && bytes > extensions.size) {
      return localRefusal('mail', 552, '5.3.4', `the message has ${bytes} bytes, and ${whereabouts.host} takes at most ${extensions.size}`);
    }
    if (!extensions.utf8 && (beyondAscii.test(to) || beyondAscii.test(from))) {
      return localRefusal('rcpt', 553, '5.6.7', `${whereabouts.host} takes no addresses beyond ASCII (SMTPUTF8)`);
    }
    return undefined;
  }

  /** Sends MAIL, RCPT and DATA. Undefined: the server expects the message now. */
  async #sendEnvelope({ from, to, bytes }: Envelope): Promise<Decision | undefined> {
    const { extensions } = this;
    const size = extensions.size > 0 ? ` SIZE=${bytes}` : '';
    const eightBit = extensions.eightBit ? ' BODY=8BITMIME' : '';
    const utf8 = extensions.utf8 && (beyondAscii.test(to) || beyondAscii.test(from)) ? ' SMTPUTF8' : '';
    const commands: [Stage, string][] = [
      ['mail', `MAIL FROM:<${from}>${size}${eightBit}${utf8}\r\n`],
      ['rcpt', `RCPT TO:<${to}>\r\n`],
      ['data', 'DATA\r\n'],
    ];
    if (this.#inTransaction) commands.unshift(['rset', 'RSET\r\n']);
    this.#inTransaction = true;
    return extensions.pipelining ? this.#sendEnvelopePipelined(commands) : this.#sendEnvelopeInSteps(commands);
  }

  async #sendEnvelopePipelined(commands: [Stage, string][]): Promise<Decision | undefined> {
    this.#connection.write(commands.map(([, line]) => line).join(''));
    const replies = await this.#connection.replies(commands.map(([stage]) => stage));
    const at = replies.findIndex((reply, index) => !isGood(commands[index]![0], reply));
    if (at < 0) return undefined;
    this.#inTransaction = commands[at]![0] !== 'mail';
    // RFC 2920 3.1: the server accepted DATA without a valid recipient. An empty message ends that state.
    if (replies.length === commands.length && replies.at(-1)!.code === 354) {
      this.#connection.write('.\r\n');
      await this.#connection.reply('dot').catch(() => {});
      this.#inTransaction = false;
    }
    return { stage: commands[at]![0], reply: replies[at]! };
  }

  async #sendEnvelopeInSteps(commands: [Stage, string][]): Promise<Decision | undefined> {
    for (const [stage, line] of commands) {
      this.#connection.write(line);
      const reply = await this.#connection.reply(stage);
      if (isGood(stage, reply)) continue;
      this.#inTransaction = stage !== 'mail';
      return { stage, reply };
    }
    return undefined;
  }

  async #sendContent(fetched: Promise<Content>): Promise<Reply> {
    const connection = this.#connection;
    let content: Content;
    try {
      content = await fetched;
    } catch (error) {
      throw connection.fail('content', 'the message could not be read here', error);
    }
    const { head, body } = content;
    if (!Buffer.isBuffer(body)) return this.#sendStream(head, body);
    if (head.length + body.length <= maxSingleWriteBytes) connection.write(wholeMessage(head, body));
    else this.#writePieces([head, body]);
    return connection.reply('dot');
  }

  #writePieces(chunks: Buffer[]) {
    const stuffer = new DotStuffer();
    this.#connection.cork();
    for (const chunk of chunks) for (const piece of stuffer.stuff(chunk)) this.#connection.write(piece);
    this.#connection.write(stuffer.end());
    this.#connection.uncork();
  }

  /** A server may refuse early and then hang up. Its reply takes precedence over the broken connection. */
  async #sendStream(head: Buffer, body: Readable): Promise<Reply> {
    const connection = this.#connection;
    const stuffer = new DotStuffer();
    let early: Reply | undefined;
    let failure: SmtpFailure | undefined;
    const replied = connection.replies(['dot']).then(
      ([reply]) => {
        early = reply;
      },
      (error: SmtpFailure) => {
        failure = error;
      },
    );
    const take = async (chunk: Buffer) => {
      connection.cork();
      let canWriteMore = true;
      for (const piece of stuffer.stuff(chunk)) canWriteMore = connection.write(piece);
      connection.uncork();
      connection.startTimeout('block');
      if (!canWriteMore) await connection.drained();
    };
    try {
      await take(head);
      for await (const chunk of body) {
        if (early !== undefined || connection.isClosed) break;
        await take(chunk as Buffer);
      }
    } catch (error) {
      connection.fail('content', 'the message could not be read here', error);
    }
    if (early !== undefined || connection.isClosed) {
      body.destroy();
      failure ??= connection.fail('closed', 'the message was not sent to its end');
      // An incomplete message cannot have been accepted.
      if ((early?.code ?? 0) < 400) throw failure;
    } else {
      connection.write(stuffer.end());
      connection.startTimeout('dot');
    }
    await replied;
    if (early === undefined) throw failure;
    return early;
  }

  /** Sends QUIT and closes without waiting for the answer. */
  quit() {
    if (this.isClosed) return;
    this.#connection.write('QUIT\r\n');
    this.#connection.end();
  }

  /** Closes at once. */
  abandon(why: string) {
    this.#connection.fail('closed', why);
  }
}

const isGood = (stage: Stage, { code }: Reply) => (stage === 'data' ? code === 354 : code < 300);

/** Releases unused content, since a stream holds a file open. */
const discard = (fetched: Promise<Content>) =>
  void fetched.then(
    ({ body }) => {
      if (!Buffer.isBuffer(body)) body.destroy();
    },
    () => {},
  );
