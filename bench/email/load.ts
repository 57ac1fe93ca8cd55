/**
 * Hands in mail by SMTP, for measuring: `load.ts <port> <sessions> <messages> <bytes> [user password]…`. Each session logs in once where a
 * login is given, waits for every answer as an ordinary program does, and keeps its connection. Prints when it handed in the first message,
 * and the milliseconds from then to the last 250.
 */
import { connect, type Socket } from 'node:net';

const [port, sessions, messages, bytes, ...logins] = process.argv.slice(2);
const to = process.env.QUARTERDECK_BENCH_TO ?? 'somebody@far.example';
/** So many are begun in a second, by all sessions together; as many as are taken by default. */
const perSecond = Number(process.env.QUARTERDECK_BENCH_PER_SECOND ?? Number.POSITIVE_INFINITY);
const line = `${'x'.repeat(70)}\r\n`;
const header =
  'From: <load@example.com>\r\nTo: <somebody@far.example>\r\nSubject: load\r\nMessage-ID: <load@example.com>\r\nDate: Mon, 16 Nov 2026 00:00:00 +0000\r\n\r\n';
const body = `${header}${line.repeat(Math.ceil((Number(bytes) - header.length) / line.length))}.\r\n`;

/** Bytes that are made once, and the first digit of the reply: this program shares the machine with whom it measures. */
const steps = (
  [
    ['MAIL FROM:<load@example.com>\r\n', '2'],
    [`RCPT TO:<${to}>\r\n`, '2'],
    ['DATA\r\n', '3'],
    [body, '2'],
  ] as const
).map(([text, digit]) => ({ bytes: Buffer.from(text, 'latin1'), expected: digit.charCodeAt(0) }));

type Told = (digit: number, reply: Buffer) => void;

interface Session {
  socket: Socket;
  told: Told;
}

/** Tells of each reply once its last line is there: three digits and a space. */
function open(): Session {
  const socket = connect(Number(port), '127.0.0.1').setNoDelay(true);
  const session: Session = { socket, told: () => {} };
  let rest: Buffer | undefined;
  socket.on('data', (chunk: Buffer) => {
    const reply = rest ? Buffer.concat([rest, chunk]) : chunk;
    const last = reply.lastIndexOf(0x0a, reply.length - 2) + 1;
    rest = reply[reply.length - 1] === 0x0a && reply[last + 3] === 0x20 ? undefined : reply;
    if (!rest) session.told(reply[last]!, reply);
  });
  return session;
}

const ask = (session: Session, text: string, expected: string) =>
  new Promise<void>((resolve, reject) => {
    session.told = (_, reply) => {
      if (reply.toString('latin1').startsWith(expected)) resolve();
      else reject(new Error(`"${text.slice(0, 60)}" was answered: ${reply}`));
    };
    if (text) session.socket.write(text);
  });

let left = Number(messages);
const opened: Session[] = [];
for (let i = 0; i < Number(sessions); i++) {
  const session = open();
  await ask(session, '', '220');
  await ask(session, 'EHLO load.example.com\r\n', '250');
  const [user, password] = logins.length ? logins.slice((2 * i) % logins.length) : [];
  if (user) await ask(session, `AUTH PLAIN ${Buffer.from(`\0${user}\0${password}`).toString('base64')}\r\n`, '235');
  opened.push(session);
}

const began = performance.now();
const beganAt = Date.now();

/** One message after the other, until there are no more. */
const work = (session: Session) =>
  new Promise<void>((resolve, reject) => {
    let at = 0;
    const begin = () => {
      if (left-- <= 0) return resolve();
      const wait = began + ((Number(messages) - left - 1) * 1_000) / perSecond - performance.now();
      if (wait > 0) setTimeout(() => session.socket.write(steps[0]!.bytes), wait);
      else session.socket.write(steps[0]!.bytes);
    };
    session.told = (digit, reply) => {
      if (digit !== steps[at]!.expected) return reject(new Error(`step ${at} was answered: ${reply}`));
      at = (at + 1) % steps.length;
      if (at === 0) begin();
      else session.socket.write(steps[at]!.bytes);
    };
    begin();
  });

await Promise.all(opened.map(work));
console.log(`${beganAt} ${performance.now() - began}`);
for (const { socket } of opened) socket.destroy();
