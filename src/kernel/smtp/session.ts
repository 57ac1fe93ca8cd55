import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Refusal } from '../errors.ts';
import { isFromHere } from '../http/peer.ts';
import {
  type Credentials,
  checkParameters,
  looksLikeAddress,
  type Named,
  readNamed,
  readPassword,
  readPlain,
  readUsername,
} from './commands.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { DataReader } from './data-reader.ts';
import { type Expected, Incoming, isGone, leftAmid, type Message, type Receiving } from './message.ts';
import { Reply, replyFor } from './reply.ts';
import * as words from './words.ts';

/** Whoever came in by one connection, and what the door does with what they say. What is thrown is told to them. */
export interface SessionHandler {
  /** Before the greeting. */
  begin(): void;
  /** Undefined: nobody logs in here. */
  logIn?(given: Credentials): Promise<void>;
  beginMessage(sender: Named): void | Promise<void>;
  addRecipient(address: string): void | Promise<void>;
  /** At DATA: how much is taken of it. */
  expectMessage(): Expected;
  /** Answers what is said behind 250. */
  takeMessage(message: Message): Promise<string>;
  /** Before each chunk that came is read: undefined, or what is waited for first. Whoever is known has a share of the event loop. */
  takeTurn?(): Promise<void> | undefined;
  /** What is said instead of a refusal, whatever it is about. */
  countRefusal?(reply: Reply): Reply;
  end(): void;
}

export interface SessionOptions extends ConnectionOptions {
  /** The name by which we greet. */
  name: string;
  /** The largest message. */
  mostBytes: number;
  /** Those who talk before so many milliseconds are over are sent away. */
  greetAfterMs: number;
  /** Commands of one connection since its last message that was taken. */
  mostCommands: number;
  open(session: Session): SessionHandler;
  isStopping(): boolean;
  /** It has logged in, or a message of it was accepted: connections that did neither go first when the door is full. */
  proved(): void;
  /** It is over. */
  left(session: Session): void;
}

/** RFC 5321 4.5.3.1.4 has 512, RFC 4954 more: a send key and its name fit several times. */
const longestLine = 2_048;
const longestName = 300;
const mostUnknown = 10;
const mostBeforeLogin = 20; // lines, those of AUTH among them

/** What one client says at an SMTP door, and what it hears. */
export class Session extends Connection {
  readonly id = randomBytes(8).toString('hex');
  /** What EHLO or HELO named; undefined before. */
  helo: string | undefined;
  readonly #options: SessionOptions;
  readonly #visit: SessionHandler;
  #isReady = false;
  #greeting: NodeJS.Timeout | undefined;
  #isLoggedIn = false;
  #unknown = 0;
  #strange = 0;
  #commands = 0;
  /** Who hears the next line, if it is no command: AUTH goes on. */
  #hearLine: ((line: string) => void) | undefined;
  #hasSender = false;
  #recipients = 0;
  #receiving: Receiving | undefined;

  constructor(socket: Socket, isSecure: boolean, options: SessionOptions) {
    super(socket, isSecure, options);
    this.#options = options;
    this.#visit = options.open(this);
    if (options.greetAfterMs > 0) this.#greeting = setTimeout(() => this.#greet(), options.greetAfterMs).unref();
    else this.#greet();
  }

  /** Whether somebody is waited for: the door for its answer, or the client for the rest of its message. */
  get isAtWork(): boolean {
    return this.isBusy || this.#receiving !== undefined;
  }

  /** Also between the first recipient and the message: whoever is sent away now has to begin again. */
  get isAmidMessage(): boolean {
    return this.isAtWork || this.#recipients > 0;
  }

  #greet() {
    if (this.isEnding) return;
    try {
      this.#visit.begin();
    } catch (error) {
      this.#refuse(error);
      this.close();
      return;
    }
    this.#isReady = true;
    this.say(words.greet(this.#options.name));
  }

  protected override leave() {
    clearTimeout(this.#greeting);
    this.#visit.end();
    this.#options.left(this);
  }

  protected override beginAnew() {
    this.helo = undefined;
    this.#isLoggedIn = false;
    this.#hearLine = undefined;
    this.#reset();
  }

  protected override abandon() {
    if (!this.#receiving) return;
    const { message, verdict, isJudged } = this.#receiving;
    message.refuse(leftAmid());
    if (!verdict || isJudged) message.end();
  }

  protected override takeTurn(): Promise<void> | undefined {
    return this.#visit.takeTurn?.();
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
    if (end > longestLine || (end < 0 && chunk.length > longestLine)) this.send(421, '4.7.0 the line is too long');
    else if (end >= 0) this.#hearCommand(chunk.toString('utf8', 0, end > 0 && chunk[end - 1] === 0x0d ? end - 1 : end));
    return end + 1;
  }

  #hearCommand(line: string) {
    if (this.#options.isStopping()) return this.send(421, '4.3.2 the server stops; come again in a moment');
    if (++this.#commands > this.#options.mostCommands)
      return this.send(421, '4.7.0 too many commands without a message; come again when there is one');
    if (this.#visit.logIn && !this.#isLoggedIn && ++this.#strange > mostBeforeLogin)
      return this.send(421, '4.7.0 too many commands before a login');
    const hearLine = this.#hearLine;
    this.#hearLine = undefined;
    if (hearLine) return hearLine(line);
    const space = line.indexOf(' ');
    const verb = (space < 0 ? line : line.slice(0, space)).toUpperCase();
    const act = Session.#acts[verb];
    if (!act) return this.#refuseUnknown(line);
    try {
      act(this, line);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Web pages can make browsers talk to us: who speaks HTTP is not answered twice. */
  #refuseUnknown(line: string) {
    if (/^[A-Z]+ \/.* HTTP\/\d\.\d$/i.test(line)) this.send(421, '4.7.0 this is no web server');
    else if (++this.#unknown >= mostUnknown) this.send(421, '4.7.0 too many unknown commands');
    else this.say(words.unknown);
  }

  static readonly #acts: Record<string, (session: Session, line: string) => void> = Object.assign(Object.create(null), {
    EHLO: (session: Session, line: string) => session.#introduce(line, true),
    HELO: (session: Session, line: string) => session.#introduce(line, false),
    MAIL: (session: Session, line: string) => session.#beginMessage(line),
    RCPT: (session: Session, line: string) => session.#addRecipient(line),
    DATA: (session: Session) => session.#beginData(),
    RSET: (session: Session) => {
      session.#reset();
      session.say(words.flushed);
    },
    NOOP: (session: Session) => session.say(words.ok),
    QUIT: (session: Session) => session.#quit(),
    HELP: (session: Session) => session.say(words.help),
    VRFY: (session: Session, line: string) => session.say(/\S\s+\S/.test(line) ? words.noPromise : words.whomToVerify),
    STARTTLS: (session: Session, line: string) => session.#startTls(line),
    AUTH: (session: Session, line: string) => session.#beginLogin(line),
  });

  #quit() {
    this.say(words.bye);
    this.close();
  }

  #introduce(line: string, isExtended: boolean) {
    const [, name = '', ...more] = line.trim().split(/\s+/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the name stands in headers and logs
    if (!name || more.length > 0 || name.length > longestName || /[\u0000-\u001f\u007f-\u009f]/.test(name))
      throw new Reply(501, '5.5.4', 'say EHLO and the name of your host');
    this.helo = name.toLowerCase();
    this.#reset();
    const { name: own, mostBytes } = this.#options;
    const offers = [
      ...['PIPELINING', '8BITMIME', 'ENHANCEDSTATUSCODES'],
      ...(this.#visit.logIn && !this.#isLoggedIn && this.#mayLogIn() ? ['AUTH PLAIN LOGIN'] : []),
      ...(this.isSecure ? [] : ['STARTTLS']),
      `SIZE ${mostBytes}`,
    ];
    this.say(words.introduce(own, isExtended ? offers : []));
  }

  #reset() {
    this.#hasSender = false;
    this.#recipients = 0;
  }

  #requireIntroduced() {
    if (this.helo === undefined) throw new Reply(503, '5.5.1', 'say EHLO first');
    if (this.#visit.logIn && !this.#isLoggedIn) throw words.logInFirst();
  }

  #beginMessage(line: string) {
    this.#requireIntroduced();
    const sender = readNamed(line);
    if (!sender || (sender.address && !looksLikeAddress(sender.address)))
      throw new Reply(501, '5.1.7', 'the sender must be an address in angle brackets, or none: MAIL FROM:<>');
    if (this.#hasSender) throw new Reply(503, '5.5.1', 'a message was begun already; say RSET first');
    checkParameters(sender.parameters, this.#options.mostBytes);
    this.#ask(
      () => this.#visit.beginMessage(sender),
      () => {
        this.#hasSender = true;
        this.say(words.senderTaken);
      },
    );
  }

  #addRecipient(line: string) {
    this.#requireIntroduced();
    const named = readNamed(line);
    const isAddress = named && (looksLikeAddress(named.address) || /^postmaster$/i.test(named.address));
    if (!isAddress) throw new Reply(501, '5.1.3', 'the recipient must be an address in angle brackets');
    if (!this.#hasSender) throw new Reply(503, '5.5.1', 'say MAIL first');
    this.#ask(
      () => this.#visit.addRecipient(named.address),
      () => {
        this.#recipients++;
        this.say(words.recipientTaken);
      },
    );
  }

  /** Most are answered at once; while the door must ask somebody, nothing more is read. */
  #ask(work: () => void | Promise<void>, done: () => void) {
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
    return this.#visit.countRefusal?.(reply) ?? reply;
  }

  #beginData() {
    this.#requireIntroduced();
    if (this.#recipients === 0) throw new Reply(503, '5.5.1', 'say RCPT first');
    this.#receiving = { message: new Incoming(this.#visit.expectMessage()), reader: new DataReader(), verdict: undefined, isJudged: false };
    this.say(words.goAhead);
  }

  #readData(chunk: Buffer, receiving: Receiving): number {
    const { message, reader } = receiving;
    const end = reader.read(chunk, message);
    if (end >= 0) {
      this.#endData(receiving);
      return end;
    }
    if (message.bytes > 2 * this.#options.mostBytes) this.send(421, '4.3.4 the message does not end');
    else if (message.isLarge) this.#handOn(receiving);
    if (message.isFull) this.holdBack();
    return chunk.length;
  }

  /** A large one is taken while it comes in. */
  #handOn(receiving: Receiving) {
    const { message } = receiving;
    const judged = () => {
      receiving.isJudged = true;
      if (this.isEnding) message.end();
      else this.letCome();
    };
    receiving.verdict = this.#visit.takeMessage(message.handOn(() => this.letCome()));
    receiving.verdict.then(judged, (error) => {
      message.refuse(error); // read to its end all the same, so that its client hears why
      judged();
    });
  }

  #endData({ message, verdict }: Receiving) {
    this.#receiving = undefined; // all of it is here: whoever leaves now has handed it over
    const refusal = message.finish();
    if (refusal && !verdict) {
      this.#conclude(message);
      this.#refuse(refusal);
      return;
    }
    const said = (verdict ?? this.#visit.takeMessage(message.gathered())).then(
      (sentence) => {
        this.#conclude(message);
        this.#commands = 0;
        this.#unknown = 0;
        this.#options.proved();
        this.say(words.write(250, sentence));
      },
      (error) => {
        this.#conclude(message);
        this.#refuse(error);
      },
    );
    this.waitFor(said);
  }

  #conclude(message: Incoming) {
    this.#reset();
    message.end();
  }

  #mayLogIn(): boolean {
    return this.isSecure || isFromHere(this.socket);
  }

  #beginLogin(line: string) {
    if (!this.#visit.logIn) return this.#refuseUnknown(line);
    if (!this.#mayLogIn()) throw new Reply(538, '5.7.11', 'say STARTTLS first: a key must not travel in the clear');
    if (this.helo === undefined) throw new Reply(503, '5.5.1', 'say EHLO first');
    if (this.#isLoggedIn) throw new Reply(503, '5.5.1', 'you are logged in already');
    const [, method = '', token, ...more] = line.trim().split(/\s+/);
    if (more.length > 0) throw new Reply(501, '5.5.4', 'AUTH has a method and at most one word behind it');
    if (/^plain$/i.test(method)) this.#hearToken(words.anything, token, (said) => this.#logIn(readPlain(said)));
    else if (/^login$/i.test(method)) this.#hearToken(words.username, token, (said) => this.#hearPassword(said));
    else throw new Reply(504, '5.5.4', 'log in by PLAIN or LOGIN');
  }

  #hearPassword(said: string) {
    const username = readUsername(said);
    if (username === undefined) throw new Reply(501, '5.5.2', 'the user name cannot be read');
    this.#hearToken(words.password, undefined, (password) => this.#logIn({ username, password: readPassword(password) }));
  }

  /** The word behind AUTH, or the next line. */
  #hearToken(question: Buffer, given: string | undefined, act: (token: string) => void) {
    if (given !== undefined) return act(given === '=' ? '' : given);
    this.say(question);
    this.#hearLine = (line) => {
      try {
        if (line.trim() === '*') throw new Reply(501, '5.7.0', 'the login was given up');
        act(line.trim());
      } catch (error) {
        this.#refuse(error);
      }
    };
  }

  #logIn(given: Credentials | undefined) {
    if (!given) throw new Reply(501, '5.5.2', 'user name and password cannot be read');
    this.#ask(
      () => this.#visit.logIn!(given),
      () => {
        this.#isLoggedIn = true;
        this.#options.proved();
        this.say(words.loggedIn);
      },
    );
  }

  /** RFC 3207: what was said in the clear counts for nothing, and what came along with the command is not heard. */
  #startTls(line: string) {
    if (line.trim().length > 'STARTTLS'.length) throw new Reply(501, '5.5.4', 'STARTTLS takes nothing behind it');
    if (this.isSecure) throw new Reply(503, '5.5.1', 'this is TLS already');
    this.say(words.readyForTls);
    this.shakeHands();
  }
}
