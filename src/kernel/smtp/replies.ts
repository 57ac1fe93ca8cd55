import { Reply } from './reply.ts';

// The fixed SMTP replies, as the bytes that are sent.

// biome-ignore lint/suspicious/noControlCharactersInRegex: a sentence that holds one of these would be two replies
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/g;

/** The RFC 3463 code precedes the sentence. */
export const write = (code: number, sentence: string): Buffer => Buffer.from(`${code} ${sentence.replace(controlCharacters, ' ')}\r\n`);

export const greet = (name: string): Buffer => Buffer.from(`220 ${name} ESMTP Quarterdeck\r\n`);

/** The reply to EHLO: our name, then one line for each extension. */
export function introduce(name: string, offers: readonly string[]): Buffer {
  const lines = [`${name} at your service`, ...offers];
  return Buffer.from(lines.map((line, n) => `250${n < lines.length - 1 ? '-' : ' '}${line}\r\n`).join(''));
}

export const ok = write(250, '2.0.0 OK');
export const flushed = write(250, '2.0.0 Flushed');
export const senderTaken = write(250, '2.1.0 Accepted');
export const recipientTaken = write(250, '2.1.5 Accepted');
export const goAhead = write(354, 'End data with <CR><LF>.<CR><LF>');
export const bye = write(221, '2.0.0 Bye');
export const help = write(214, '2.0.0 RFC 5321 says it all');
export const noPromise = write(252, '2.1.5 send something, and see');
export const whomToVerify = write(501, '5.5.4 say VRFY and an address');
export const unknown = write(500, '5.5.2 there is no such command here');
export const readyForTls = write(220, '2.0.0 Ready to start TLS');
export const loggedIn = write(235, '2.7.0 Authentication successful');
/** RFC 4954: the challenges of AUTH, the last two in base64. */
export const anything = Buffer.from('334 \r\n');
export const username = Buffer.from('334 VXNlcm5hbWU6\r\n');
export const password = Buffer.from('334 UGFzc3dvcmQ6\r\n');

export const logInFirst = () => new Reply(530, '5.7.0', 'log in first: the user name is the send key’s keyId, the password its secret');
