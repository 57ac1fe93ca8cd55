import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Refusal } from '../errors.ts';
import { isLocalPeer } from '../http/peer.ts';
import { CommandLimits } from './command-limits.ts';
import { type Credentials, checkParameters, looksLikeAddress, parsePathArgument } from './commands.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { DataReader } from './data-reader.ts';
import { LoginDialogue } from './login-dialogue.ts';
import { clientLeft, isGone, ReceivedMessage, type Receiving } from './message.ts';
import * as replies from './replies.ts';
import { Reply, replyFor } from './reply.ts';
import type { SessionHandler } from './session-handler.ts';

export interface SessionOptions extends ConnectionOptions {
  /** The name in our greeting. */
  name: string;
  /** The largest message. */
  mostBytes: number;
  /** A client that sends before this many milliseconds are over is disconnected. */
  greetAfterMs: number;
  /** The limit of commands of one connection since its last accepted message. */
  mostCommands: number;
  open(session: Session): SessionHandler;
  isStopping(): boolean;
  /** It has logged in, or one of its messages was accepted: other connections are evicted first. */
  onKnown(): void;
  /** The session is over. */
  onClosed(session: Session): void;
}

/** RFC 5321 4.5.3.1.4 has 512, RFC 4954 more: a send key and its name fit several times. */
const maxLineLength = 2_048;
const maxNameLength = 300;

/** The SMTP dialogue with one client. */
export class Session extends Connection {
  readonly id = randomBytes(8).toString('hex');
  /** The name from EHLO or HELO; undefined before. */
  helo: string | undefined;
  readonly #options: SessionOptions;
  readonly #handler: SessionHandler;
  #isReady = false;
  #greeting: NodeJS.Timeout | undefined;
  #isLoggedIn = false;
  readonly #limits: CommandLimits;
  /** The last AUTH: the next line may be a part of it. */
  #login: LoginDialogue | undefined;
  #hasSender = false;
  #recipients = 0;
  #receiving: Receiving | undefined;

  constructor(socket: Socket, isSecure: boolean, options: SessionOptions) {
    super(socket, isSecure, options);
    this.#options = options;
    this.#limits = new CommandLimits(options.mostCommands);
    this.#handler = options.open(this);
    if (options.greetAfterMs > 0) this.#greeting = setTimeout(() => this.#greet(), options.greetAfterMs).unref();
    else this.#greet();
  }

  /** Whether a handler is running, or a message is arriving. */
  get isAtWork(): boolean {
    return this.isBusy || this.#receiving !== undefined;
  }

  /** Also between the first recipient and the message: a client that is evicted now has to start again. */
  get isAmidMessage(): boolean {
    return this.isAtWork || this.#recipients > 0;
  }

  #greet() {
    if (this.isEnding) return;
    try {
      this.#handler.begin();
    } catch (error) {
      this.#refuse(error);
      this.close();
      return;
    }
    this.#isReady = true;
    this.say(replies.greet(this.#options.name));
  }

  protected override onClosed() {
    clearTimeout(this.#greeting);
    this.#handler.end();
    this.#options.onClosed(this);
  }

  protected override onTlsStarted() {
    this.helo = undefined;
    this.#isLoggedIn = false;
    this.#login = undefined;
    this.#reset();
  }

  protected override onAbandoned() {
    if (!this.#receiving) return;
    const { message, verdict, isJudged } = this.#receiving;
    message.refuse(clientLeft());
    if (!verdict || isJudged) message.end();
  }

  protected override takeTurn(): Promise<void> | undefined {
    return this.#handler.takeTurn?.();
  }

  protected override take(chunk: Buffer): number {
    if (!this.#isReady) {
      this.send(421, `4.7.0 ${this.#options.name} You talk too soon`);
      return 0;
    }
    return this.#receiving ? this.#readData(chunk, this.#receiving) : this.#readLine(chunk);
  }

  #readLine(chunk: Buffer): number {
    const end = chunk.indexOf(0x0a);
    if (end > maxLineLength || (end < 0 && chunk.length > maxLineLength)) this.send(421, '4.7.0 the line is too long');
    else if (end >= 0) this.#runCommand(chunk.toString('utf8', 0, end > 0 && chunk[end - 1] === 0x0d ? end - 1 : end));
    return end + 1;
  }

  sayStopping() {
    this.send(421, '4.3.2 the server stops; come again in a moment');
  }

  #runCommand(line: string) {
    if (this.#options.isStopping()) return this.sayStopping();
    const excess = this.#limits.countLine(this.#isLoginMissing);
    if (excess) return this.send(421, excess);
    try {
      if (this.#login?.takeLine(line)) return;
      const space = line.indexOf(' ');
      const verb = (space < 0 ? line : line.slice(0, space)).toUpperCase();
      const act = Session.#commandsByVerb[verb];
      if (act) act(this, line);
      else this.#refuseUnknown(line);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuseUnknown(line: string) {
    const excess = this.#limits.countUnknown(line);
    if (excess) this.send(421, excess);
    else this.say(replies.unknown);
  }

  static readonly #commandsByVerb: Record<string, (session: Session, line: string) => void> = Object.assign(Object.create(null), {
    EHLO: (session: Session, line: string) => session.#introduce(line, true),
    HELO: (session: Session, line: string) => session.#introduce(line, false),
    MAIL: (session: Session, line: string) => session.#beginMessage(line),
    RCPT: (session: Session, line: string) => session.#addRecipient(line),
    DATA: (session: Session) => session.#beginData(),
    RSET: (session: Session) => {
      session.#reset();
      session.say(replies.flushed);
    },
    NOOP: (session: Session) => session.say(replies.ok),
    QUIT: (session: Session) => session.#quit(),
    HELP: (session: Session) => session.say(replies.help),
    VRFY: (session: Session, line: string) => session.say(/\S\s+\S/.test(line) ? replies.noPromise : replies.whomToVerify),
    STARTTLS: (session: Session, line: string) => session.#startTls(line),
    AUTH: (session: Session, line: string) => session.#beginLogin(line),
  });

  #quit() {
    this.say(replies.bye);
    this.close();
  }

  #introduce(line: string, isExtended: boolean) {
    const [, name = '', ...more] = line.trim().split(/\s+/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the name stands in headers and logs
    if (!name || more.length > 0 || name.length > maxNameLength || /[\u0000-\u001f\u007f-\u009f]/.test(name))
      throw new Reply(501, '5.5.4', 'say EHLO and the name of your host');
    this.helo = name.toLowerCase();
    this.#reset();
    const { name: own, mostBytes } = this.#options;
    const offers = [
      'PIPELINING',
      '8BITMIME',
      'ENHANCEDSTATUSCODES',
      ...(this.#isLoginMissing && this.#mayLogIn() ? ['AUTH PLAIN LOGIN'] : []),
      ...(this.isSecure ? [] : ['STARTTLS']),
      `SIZE ${mostBytes}`,
    ];
    this.say(replies.introduce(own, isExtended ? offers : []));
  }

  #reset() {
    this.#hasSender = false;
    this.#recipients = 0;
  }

  #requireIntroduced() {
    if (this.helo === undefined) throw new Reply(503, '5.5.1', 'say EHLO first');
    if (this.#isLoginMissing) throw replies.logInFirst();
  }

  #beginMessage(line: string) {
    this.#requireIntroduced();
    const sender = parsePathArgument(line);
    if (!sender || (sender.address && !looksLikeAddress(sender.address)))
      throw new Reply(501, '5.1.7', 'the sender must be an address in angle brackets, or none: MAIL FROM:<>');
    if (this.#hasSender) throw new Reply(503, '5.5.1', 'a message was begun already; say RSET first');
    checkParameters(sender.parameters, this.#options.mostBytes);
    this.#runHandler(
      () => this.#handler.beginMessage(sender),
      () => {
        this.#hasSender = true;
        this.say(replies.senderTaken);
      },
    );
  }

  #addRecipient(line: string) {
    this.#requireIntroduced();
    const named = parsePathArgument(line);
    const isAddress = named && (looksLikeAddress(named.address) || /^postmaster$/i.test(named.address));
    if (!isAddress) throw new Reply(501, '5.1.3', 'the recipient must be an address in angle brackets');
    if (!this.#hasSender) throw new Reply(503, '5.5.1', 'say MAIL first');
    this.#runHandler(
      () => this.#handler.addRecipient(named.address),
      () => {
        this.#recipients++;
        this.say(replies.recipientTaken);
      },
    );
  }

  /** Most commands are answered at once; while a handler runs, reading stops. */
  #runHandler(work: () => void | Promise<void>, done: () => void) {
    const asked = work();
    if (asked === undefined) return done();
    this.waitFor(asked.then(done, (error) => this.#refuse(error)));
  }

  #refuse(error: unknown) {
    const { responseCode, message } = this.#refusalOf(error);
    this.send(responseCode, message);
  }

  #refusalOf(error: unknown): Reply {
    const { log, door } = this.#options;
    if (!(error instanceof Reply || error instanceof Refusal || isGone(error))) log.error({ err: error, door }, 'mail was not taken in');
    const reply = replyFor(error);
    return this.#handler.countRefusal?.(reply) ?? reply;
  }

  #beginData() {
    this.#requireIntroduced();
    if (this.#recipients === 0) throw new Reply(503, '5.5.1', 'say RCPT first');
    const message = new ReceivedMessage(this.#handler.expectMessage());
    this.#receiving = { message, reader: new DataReader(), verdict: undefined, isJudged: false };
    this.say(replies.goAhead);
  }

  #readData(chunk: Buffer, receiving: Receiving): number {
    const { message, reader } = receiving;
    const end = reader.read(chunk, message);
    if (end >= 0) {
      this.#endData(receiving);
      return end;
    }
    if (message.bytes > 2 * this.#options.mostBytes) this.send(421, '4.3.4 the message does not end');
    else if (message.isLarge) this.#startStreaming(receiving);
    if (message.isFull) this.pauseReading();
    return chunk.length;
  }

  /** A large message is passed on while it arrives. */
  #startStreaming(receiving: Receiving) {
    const { message } = receiving;
    const onVerdict = () => {
      receiving.isJudged = true;
      if (this.isEnding) message.end();
      else this.resumeReading();
    };
    receiving.verdict = this.#handler.takeMessage(message.startStreaming(() => this.resumeReading()));
    receiving.verdict.then(onVerdict, (error) => {
      message.refuse(error); // read to its end all the same, so that the client gets the reason
      onVerdict();
    });
  }

  #endData({ message, verdict }: Receiving) {
    this.#receiving = undefined; // all of it is here: a client that leaves now has submitted it
    const refusal = message.finish();
    if (refusal && !verdict) {
      this.#conclude(message);
      this.#refuse(refusal);
      return;
    }
    const said = (verdict ?? this.#handler.takeMessage(message.buffered())).then(
      (sentence) => {
        this.#conclude(message);
        this.#limits.reset();
        this.#options.onKnown();
        this.say(replies.write(250, sentence));
        if (this.#options.isStopping()) this.sayStopping();
      },
      (error) => {
        this.#conclude(message);
        this.#refuse(error);
      },
    );
    this.waitFor(said);
  }

  #conclude(message: ReceivedMessage) {
    this.#reset();
    message.end();
  }

  get #isLoginMissing(): boolean {
    return this.#handler.logIn !== undefined && !this.#isLoggedIn;
  }

  #mayLogIn(): boolean {
    return this.isSecure || isLocalPeer(this.socket);
  }

  #beginLogin(line: string) {
    if (!this.#handler.logIn) return this.#refuseUnknown(line);
    if (!this.#mayLogIn()) throw new Reply(538, '5.7.11', 'say STARTTLS first: a key must not travel in the clear');
    if (this.helo === undefined) throw new Reply(503, '5.5.1', 'say EHLO first');
    if (this.#isLoggedIn) throw new Reply(503, '5.5.1', 'you are logged in already');
    this.#login = new LoginDialogue(
      (question) => this.say(question),
      (given) => this.#logIn(given),
    );
    this.#login.begin(line);
  }

  #logIn(given: Credentials) {
    this.#runHandler(
      () => this.#handler.logIn!(given),
      () => {
        this.#isLoggedIn = true;
        this.#options.onKnown();
        this.say(replies.loggedIn);
      },
    );
  }

  /** RFC 3207: everything said in the clear is void, and bytes that came along with the command are dropped. */
  #startTls(line: string) {
    if (line.trim().length > 'STARTTLS'.length) throw new Reply(501, '5.5.4', 'STARTTLS takes nothing behind it');
    if (this.isSecure) throw new Reply(503, '5.5.1', 'this is TLS already');
    this.say(replies.readyForTls);
    this.startTls();
  }
}
