/** What a server answers to one command (RFC 5321 4.2). */
export interface Reply {
  code: number;
  /** RFC 3463, such as 5.1.1; of the last line that has one. */
  enhanced?: string;
  /** Its lines without code and enhanced code, as one text. */
  text: string;
  /** The lines one by one: what EHLO offers. */
  lines: string[];
}

/** Beyond these it is not a mail server that we speak with. RFC 5321 4.5.3.1.5 has lines of 512; some write more. */
const mostLineBytes = 2048;
const mostReplyBytes = 8192;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const enhancedCode = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/;

/** Reads replies out of whatever chunks they come in. `feed` answers a sentence when what came is none. */
export class ReplyReader {
  #rest: Buffer | undefined;
  #lines: string[] = [];
  #enhanced: string | undefined;
  #code = 0;
  #bytes = 0;
  readonly #heard: (reply: Reply) => void;

  constructor(heard: (reply: Reply) => void) {
    this.#heard = heard;
  }

  /** Whether something has come of which the end is missing. */
  get isAmid(): boolean {
    return this.#rest !== undefined || this.#lines.length > 0;
  }

  feed(chunk: Buffer): string | undefined {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let from = 0;
    for (let end = bytes.indexOf(lineFeed, from); end >= 0; end = bytes.indexOf(lineFeed, from)) {
      const size = end - from;
      if (size > mostLineBytes) return `its line is longer than ${mostLineBytes} bytes`;
      const wrong = this.#line(bytes, from, end > from && bytes[end - 1] === carriageReturn ? end - 1 : end);
      if (wrong !== undefined) return wrong;
      from = end + 1;
    }
    if (bytes.length - from > mostLineBytes) return `its line is longer than ${mostLineBytes} bytes`;
    // A copy: the rest of a chunk must not keep the whole chunk in memory.
    if (from < bytes.length) this.#rest = Buffer.from(bytes.subarray(from));
    return undefined;
  }

  #line(bytes: Buffer, from: number, to: number): string | undefined {
    const code = codeAt(bytes, from, to);
    if (code === 0) return `it says "${printable(bytes.toString('latin1', from, Math.min(to, from + 60)))}", which is no reply`;
    if (this.#lines.length > 0 && code !== this.#code) return 'the lines of its reply have different codes';
    this.#bytes += to - from;
    if (this.#bytes > mostReplyBytes) return `its reply is longer than ${mostReplyBytes} bytes`;
    this.#code = code;
    let line = to > from + 4 ? textOf(bytes, from + 4, to) : '';
    const enhanced = line.charCodeAt(1) === 0x2e ? enhancedCode.exec(line) : null;
    // The class of the enhanced code must be that of the code: what contradicts itself is only text.
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
    this.#heard(reply);
    return undefined;
  }
}

/** 200 to 599 with a space, a hyphen or nothing behind it; else 0. */
function codeAt(bytes: Buffer, from: number, to: number): number {
  if (to - from < 3) return 0;
  const [a, b, c] = [bytes[from]! - 48, bytes[from + 1]! - 48, bytes[from + 2]! - 48];
  if (a < 2 || a > 5 || b < 0 || b > 9 || c < 0 || c > 9) return 0;
  if (to > from + 3 && bytes[from + 3] !== 0x20 && bytes[from + 3] !== 0x2d) return 0;
  return a * 100 + b * 10 + c;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a stranger's text goes into our log, and the terminal of whoever reads it
const control = /[\u0000-\u001f\u007f-\u009f]+/g;
const printable = (text: string) => text.replace(control, ' ');

/** Nearly all that servers say is printable ASCII, which is taken as it is. */
function textOf(bytes: Buffer, from: number, to: number): string {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte < 0x20 || byte > 0x7e) return printable(bytes.toString('utf8', from, to));
  }
  return bytes.toString('latin1', from, to);
}

export const printReply = ({ code, enhanced, text }: Reply): string => [code, enhanced, text].filter(Boolean).join(' ');
