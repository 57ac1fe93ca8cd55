/** A server's reply to one command (RFC 5321 4.2). */
export interface Reply {
  code: number;
  /** RFC 3463 code such as 5.1.1, from the last line that has one. */
  enhanced?: string;
  /** All lines without their codes, joined. */
  text: string;
  /** The lines one by one, for EHLO. */
  lines: string[];
}

/** A longer reply is a protocol error. RFC 5321 4.5.3.1.5 allows lines of 512 bytes; some servers write more. */
const maxLineBytes = 2048;
const maxReplyBytes = 8192;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const enhancedCode = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/;

/** Parses replies from any chunking. `feed` returns a sentence if the bytes are no reply. */
export class ReplyReader {
  #rest: Buffer | undefined;
  #lines: string[] = [];
  #enhanced: string | undefined;
  #code = 0;
  #bytes = 0;
  readonly #onReply: (reply: Reply) => void;

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  /** Whether an incomplete reply is buffered. */
  get isPartial(): boolean {
    return this.#rest !== undefined || this.#lines.length > 0;
  }

  feed(chunk: Buffer): string | undefined {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let from = 0;
    for (let end = bytes.indexOf(lineFeed, from); end >= 0; end = bytes.indexOf(lineFeed, from)) {
      const size = end - from;
      if (size > maxLineBytes) return `its line is longer than ${maxLineBytes} bytes`;
      const wrong = this.#line(bytes, from, end > from && bytes[end - 1] === carriageReturn ? end - 1 : end);
      if (wrong !== undefined) return wrong;
      from = end + 1;
    }
    if (bytes.length - from > maxLineBytes) return `its line is longer than ${maxLineBytes} bytes`;
    // A copy, so that the rest does not keep the whole chunk in memory.
    if (from < bytes.length) this.#rest = Buffer.from(bytes.subarray(from));
    return undefined;
  }

  #line(bytes: Buffer, from: number, to: number): string | undefined {
    const code = codeAt(bytes, from, to);
    if (code === 0) return `it says "${printable(bytes.toString('latin1', from, Math.min(to, from + 60)))}", which is no reply`;
    if (this.#lines.length > 0 && code !== this.#code) return 'the lines of its reply have different codes';
    this.#bytes += to - from;
    if (this.#bytes > maxReplyBytes) return `its reply is longer than ${maxReplyBytes} bytes`;
    this.#code = code;
    let line = to > from + 4 ? textOf(bytes, from + 4, to) : '';
    const enhanced = line.charCodeAt(1) === 0x2e ? enhancedCode.exec(line) : null;
    // An enhanced code of another class than the code is treated as text.
    if (enhanced !== null && enhanced[1]!.charCodeAt(0) - 48 === Math.floor(code / 100)) {
      this.#enhanced = enhanced[1];
      line = line.slice(enhanced[0].length);
    }
    this.#lines.push(line);
    if (to > from + 3 && bytes[from + 3] === 0x2d) return undefined;
    const lines = this.#lines;
    const reply: Reply = { code, text: lines.length === 1 ? line : lines.join(' '), lines };
    if (this.#enhanced !== undefined) reply.enhanced = this.#enhanced;
    this.#lines = [];
    this.#enhanced = undefined;
    this.#bytes = 0;
    this.#onReply(reply);
    return undefined;
  }
}

/** The reply code, 200 to 599, followed by a space, a hyphen or the line end; otherwise 0. */
function codeAt(bytes: Buffer, from: number, to: number): number {
  if (to - from < 3) return 0;
  const [a, b, c] = [bytes[from]! - 48, bytes[from + 1]! - 48, bytes[from + 2]! - 48];
  if (a < 2 || a > 5 || b < 0 || b > 9 || c < 0 || c > 9) return 0;
  if (to > from + 3 && bytes[from + 3] !== 0x20 && bytes[from + 3] !== 0x2d) return 0;
  return a * 100 + b * 10 + c;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: remote text goes into our log and onto terminals
const control = /[\u0000-\u001f\u007f-\u009f]+/g;
const printable = (text: string) => text.replace(control, ' ');

/** Fast path for printable ASCII, which nearly all replies are. */
function textOf(bytes: Buffer, from: number, to: number): string {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte < 0x20 || byte > 0x7e) return printable(bytes.toString('utf8', from, to));
  }
  return bytes.toString('latin1', from, to);
}

export const printReply = ({ code, enhanced, text }: Reply): string => [code, enhanced, text].filter(Boolean).join(' ');
