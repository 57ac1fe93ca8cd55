/**
 * Hands in mail by SMTP, for measuring: `load.ts <port> <sessions> <messages> <bytes> [user password]…`. Each session logs in once where a
 * login is given, waits for every answer as an ordinary program does, and keeps its connection. Prints the milliseconds from the first
 * message to the last 250.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [port, sessions, messages, bytes, ...logins] = process.argv.slice(2);
const to = process.env.QUARTERDECK_BENCH_TO ?? 'somebody@far.example';
/** So many are begun in a second, by all sessions together; as many as are taken by default. */
const perSecond = Number(process.env.QUARTERDECK_BENCH_PER_SECOND ?? Number.POSITIVE_INFINITY);
const line = `${'x'.repeat(70)}\r\n`;
const header =
  'From: <load@example.com>\r\nTo: <somebody@far.example>\r\nSubject: load\r\nMessage-ID: <load@example.com>\r\nDate: Mon, 16 Nov 2026 00:00:00 +0000\r\n\r\n';
const body = `${header}${line.repeat(Math.ceil((Number(bytes) - header.length) / line.length))}.\r\n`;

interface Session {
  socket: Socket;
  ask(text: string, expected: string): Promise<string>;
}

function open(): Promise<Session> {
  const socket = connect(Number(port), '127.0.0.1').setNoDelay(true);
  let buffered = '';
  let waiting: ((reply: string) => void) | undefined;
  socket.setEncoding('latin1').on('data', (text: string) => {
    buffered += text;
    const reply = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(buffered)?.[0];
    if (!reply) return;
    buffered = buffered.slice(reply.length);
    waiting?.(reply);
  });
  const reply = () => new Promise<string>((resolve) => (waiting = resolve));
  const ask = async (text: string, expected: string) => {
    const answered = reply();
    if (text) socket.write(text);
    const said = await answered;
    if (!said.startsWith(expected)) throw new Error(`"${text.slice(0, 60)}" was answered: ${said}`);
    return said;
  };
  return ask('', '220').then(() => ({ socket, ask }));
}

let left = Number(messages);
const opened: Session[] = [];
for (let i = 0; i < Number(sessions); i++) {
  const session = await open();
  await session.ask('EHLO load.example.com\r\n', '250');
  const [user, password] = logins.length ? logins.slice((2 * i) % logins.length) : [];
  if (user) await session.ask(`AUTH PLAIN ${Buffer.from(`\0${user}\0${password}`).toString('base64')}\r\n`, '235');
  opened.push(session);
}
const began = performance.now();
await Promise.all(
  opened.map(async ({ ask }) => {
    while (left-- > 0) {
      const wait = began + ((Number(messages) - left - 1) * 1_000) / perSecond - performance.now();
      if (wait > 0) await sleep(wait);
      await ask('MAIL FROM:<load@example.com>\r\n', '250');
      await ask(`RCPT TO:<${to}>\r\n`, '250');
      await ask('DATA\r\n', '354');
      await ask(body, '250');
    }
  }),
);
console.log(performance.now() - began);
for (const { socket } of opened) socket.destroy();
