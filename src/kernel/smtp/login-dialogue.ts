import { type Credentials, readPassword, readPlain, readUsername } from './commands.ts';
import * as replies from './replies.ts';
import { Reply } from './reply.ts';

/** The lines of one AUTH: PLAIN needs one token, LOGIN a name and a password. The first token may stand behind the method. */
export class LoginDialogue {
  readonly #ask: (question: Buffer) => void;
  readonly #submit: (given: Credentials) => void;
  /** Receives the next line of the client. */
  #nextToken: ((token: string) => void) | undefined;

  constructor(ask: (question: Buffer) => void, submit: (given: Credentials) => void) {
    this.#ask = ask;
    this.#submit = submit;
  }

  begin(line: string): void {
    const [, method = '', token, ...more] = line.trim().split(/\s+/);
    if (more.length > 0) throw new Reply(501, '5.5.4', 'AUTH has a method and at most one word behind it');
    if (/^plain$/i.test(method)) this.#readToken(replies.anything, token, (said) => this.#logIn(readPlain(said)));
    else if (/^login$/i.test(method)) this.#readToken(replies.username, token, (said) => this.#readPassword(said));
    else throw new Reply(504, '5.5.4', 'log in by PLAIN or LOGIN');
  }

  /** False: the line is a command, since no token is missing. */
  takeLine(line: string): boolean {
    const act = this.#nextToken;
    if (!act) return false;
    this.#nextToken = undefined;
    if (line.trim() === '*') throw new Reply(501, '5.7.0', 'the login was given up');
    act(line.trim());
    return true;
  }

  #readPassword(said: string): void {
    const username = readUsername(said);
    if (username === undefined) throw new Reply(501, '5.5.2', 'the user name cannot be read');
    this.#readToken(replies.password, undefined, (password) => this.#logIn({ username, password: readPassword(password) }));
  }

  /** The word after AUTH, or the next line. */
  #readToken(question: Buffer, given: string | undefined, act: (token: string) => void): void {
    if (given === undefined) {
      this.#ask(question);
      this.#nextToken = act;
    } else act(given === '=' ? '' : given);
  }

  #logIn(given: Credentials | undefined): void {
    if (!given) throw new Reply(501, '5.5.2', 'user name and password cannot be read');
    this.#submit(given);
  }
}
