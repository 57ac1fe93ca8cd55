const maxUnknownCommands = 10;
const maxLinesBeforeLogin = 20; // lines, including those of AUTH

/** Counts the lines of one connection. A client beyond a limit is disconnected with the sentence that is returned. */
export class CommandLimits {
  readonly #maxCommands: number;
  #commandCount = 0;
  #unknownCount = 0;
  #linesBeforeLogin = 0;

  constructor(maxCommands: number) {
    this.#maxCommands = maxCommands;
  }

  countLine(isLoginMissing: boolean): string | undefined {
    if (++this.#commandCount > this.#maxCommands) return '4.7.0 too many commands without a message; come again when there is one';
    if (isLoginMissing && ++this.#linesBeforeLogin > maxLinesBeforeLogin) return '4.7.0 too many commands before a login';
    return undefined;
  }

  /** Web pages can make browsers connect here: a client that sends HTTP is disconnected at once. */
  countUnknown(line: string): string | undefined {
    if (/^[A-Z]+ \/.* HTTP\/\d\.\d$/i.test(line)) return '4.7.0 this is no web server';
    return ++this.#unknownCount >= maxUnknownCommands ? '4.7.0 too many unknown commands' : undefined;
  }

  /** A message was accepted. */
  reset(): void {
    this.#commandCount = 0;
    this.#unknownCount = 0;
  }
}
