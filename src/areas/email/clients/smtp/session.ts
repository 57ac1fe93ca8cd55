import type { Readable } from 'node:stream';
import type { Conversation } from './conversation.ts';
import { type Content, DotStuffer, wholeMessage } from './dots.ts';
import type { SmtpFailure, Stage } from './failure.ts';
import type { Reply } from './replies.ts';

/** What the server can do, of what we use. */
export interface Offers {
  pipelining: boolean;
  eightBit: boolean;
  utf8: boolean;
  startTls: boolean;
  /** The largest message; 0: it does not say. */
  size: number;
  auth: string[];
}

export function readOffers(reply: Reply | undefined): Offers {
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

/** The reply that decided, and which step it answered. */
export interface Decision {
  stage: Stage;
  reply: Reply;
}

export interface Whereabouts {
  host: string;
  address: string;
  tls: string | undefined;
}

/** Larger messages are written piece by piece: copying them would double them. */
const mostInOnePiece = 64 * 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the command, or the address in it
const unspeakable = /[\u0000-\u001f\u007f<>]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII
const beyondAscii = /[^\u0000-\u007f]/;

const ourRefusal = (stage: Stage, code: number, enhanced: string, text: string): Decision => ({
  stage,
  reply: { code, enhanced, text, lines: [text] },
});

/** An open session: one message after the other, to one recipient each. */
export class Session {
  readonly offers: Offers;
  readonly whereabouts: Whereabouts;
  readonly #conversation: Conversation;
  /** A transaction was begun and not ended: the next must say RSET first. */
  #isBegun = false;
  sent = 0;

  constructor(conversation: Conversation, offers: Offers, whereabouts: Whereabouts) {
    this.#conversation = conversation;
    this.offers = offers;
    this.whereabouts = whereabouts;
  }

  get isOver(): boolean {
    return this.#conversation.isOver;
  }

  set onEnd(listener: () => void) {
    this.#conversation.onEnd = listener;
  }

  /** What the server says to one message. Throws SmtpFailure when the session ended without a word about it. */
  async deliver(envelope: Envelope, content: () => Promise<Content>): Promise<Decision> {
    const refused = this.#refuseAtHome(envelope);
    if (refused !== undefined) return refused;
    this.sent += 1;
    // Fetched while the envelope travels. What goes wrong is heard when it is needed.
    const fetched = content();
    fetched.catch(() => {});
    try {
      const decision = await this.#introduce(envelope);
      if (decision?.stage === 'rset') throw this.#conversation.fail('protocol', `${this.whereabouts.host} refuses to begin anew (RSET)`);
      if (decision !== undefined) {
        discard(fetched);
        return decision;
      }
    } catch (error) {
      discard(fetched);
      throw error;
    }
    const dot = await this.#hand(fetched);
    this.#isBegun = false;
    return { stage: 'dot', reply: dot };
  }

  /** What the server has told us that it would refuse. */
  #refuseAtHome({ from, to, bytes }: Envelope): Decision | undefined {
    const { offers, whereabouts } = this;
    if (unspeakable.test(to) || unspeakable.test(from)) {
      return ourRefusal('rcpt', 553, '5.1.3', 'the address holds characters that no mail server takes');
    }
    if (offers.size > 0 && bytes > offers.size) {
      return ourRefusal('mail', 552, '5.3.4', `the message has ${bytes} bytes, and ${whereabouts.host} takes at most ${offers.size}`);
    }
    if (!offers.utf8 && (beyondAscii.test(to) || beyondAscii.test(from))) {
      return ourRefusal('rcpt', 553, '5.6.7', `${whereabouts.host} takes no addresses beyond ASCII (SMTPUTF8)`);
    }
    return undefined;
  }

  /** MAIL, RCPT and DATA. Undefined once the message may follow. */
  async #introduce({ from, to, bytes }: Envelope): Promise<Decision | undefined> {
    const { offers } = this;
    const size = offers.size > 0 ? ` SIZE=${bytes}` : '';
    const eightBit = offers.eightBit ? ' BODY=8BITMIME' : '';
    const utf8 = offers.utf8 && (beyondAscii.test(to) || beyondAscii.test(from)) ? ' SMTPUTF8' : '';
    const commands: [Stage, string][] = [
      ['mail', `MAIL FROM:<${from}>${size}${eightBit}${utf8}\r\n`],
      ['rcpt', `RCPT TO:<${to}>\r\n`],
      ['data', 'DATA\r\n'],
    ];
    if (this.#isBegun) commands.unshift(['rset', 'RSET\r\n']);
    this.#isBegun = true;
    return offers.pipelining ? this.#introduceAtOnce(commands) : this.#introduceInSteps(commands);
  }

  async #introduceAtOnce(commands: [Stage, string][]): Promise<Decision | undefined> {
    this.#conversation.write(commands.map(([, line]) => line).join(''));
    const replies = await this.#conversation.replies(commands.map(([stage]) => stage));
    const at = replies.findIndex((reply, index) => !isGood(commands[index]![0], reply));
    if (at < 0) return undefined;
    this.#isBegun = commands[at]![0] !== 'mail';
    // RFC 2920 3.1: it opened the door although nobody is to receive anything. An empty message closes it.
    if (replies.length === commands.length && replies.at(-1)!.code === 354) {
      this.#conversation.write('.\r\n');
      await this.#conversation.reply('dot').catch(() => {});
      this.#isBegun = false;
    }
    return { stage: commands[at]![0], reply: replies[at]! };
  }

  async #introduceInSteps(commands: [Stage, string][]): Promise<Decision | undefined> {
    for (const [stage, line] of commands) {
      this.#conversation.write(line);
      const reply = await this.#conversation.reply(stage);
      if (isGood(stage, reply)) continue;
      this.#isBegun = stage !== 'mail';
      return { stage, reply };
    }
    return undefined;
  }

  async #hand(fetched: Promise<Content>): Promise<Reply> {
    const conversation = this.#conversation;
    let content: Content;
    try {
      content = await fetched;
    } catch (error) {
      throw conversation.fail('content', 'the message could not be read here', error);
    }
    const { head, body } = content;
    if (!Buffer.isBuffer(body)) return this.#handStream(head, body);
    if (head.length + body.length <= mostInOnePiece) conversation.write(wholeMessage(head, body));
    else this.#writePieces([head, body]);
    return conversation.reply('dot');
  }

  #writePieces(chunks: Buffer[]) {
    const stuffer = new DotStuffer();
    this.#conversation.cork();
    for (const chunk of chunks) for (const piece of stuffer.stuff(chunk)) this.#conversation.write(piece);
    this.#conversation.write(stuffer.end());
    this.#conversation.uncork();
  }

  /** A server may answer before the end, and then usually hangs up: its words count more than the broken connection. */
  async #handStream(head: Buffer, body: Readable): Promise<Reply> {
    const conversation = this.#conversation;
    const stuffer = new DotStuffer();
    let early: Reply | undefined;
    let failure: SmtpFailure | undefined;
    const decided = conversation.replies(['dot']).then(
      ([reply]) => {
        early = reply;
      },
      (error: SmtpFailure) => {
        failure = error;
      },
    );
    const take = async (chunk: Buffer) => {
      conversation.cork();
      let hasRoom = true;
      for (const piece of stuffer.stuff(chunk)) hasRoom = conversation.write(piece);
      conversation.uncork();
      conversation.arm('block');
      if (!hasRoom) await conversation.drained();
    };
    try {
      await take(head);
      for await (const chunk of body) {
        if (early !== undefined || conversation.isOver) break;
        await take(chunk as Buffer);
      }
    } catch (error) {
      conversation.fail('content', 'the message could not be read here', error);
    }
    if (early !== undefined || conversation.isOver) {
      body.destroy();
      failure ??= conversation.fail('closed', 'the message was not sent to its end');
      // Nobody can have accepted what was not sent to its end.
      if ((early?.code ?? 0) < 400) throw failure;
    } else {
      conversation.write(stuffer.end());
      conversation.arm('dot');
    }
    await decided;
    if (early === undefined) throw failure;
    return early;
  }

  /** Says goodbye and closes; waits for no answer. */
  quit() {
    if (this.isOver) return;
    this.#conversation.write('QUIT\r\n');
    this.#conversation.end();
  }

  /** Closes at once. */
  abandon(why: string) {
    this.#conversation.fail('closed', why);
  }
}

const isGood = (stage: Stage, { code }: Reply) => (stage === 'data' ? code === 354 : code < 300);

/** What was fetched and is not needed: a stream holds a file open. */
const discard = (fetched: Promise<Content>) =>
  void fetched.then(
    ({ body }) => {
      if (!Buffer.isBuffer(body)) body.destroy();
    },
    () => {},
  );
