import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** What the server does with the next command, of a session under way too. */
export type Manner =
  | 'accept'
  /** Lets go of the connection in the middle of the message. */
  | 'drop'
  /** Takes the connection and says nothing. */
  | 'silent'
  /** Its answer to one command instead of a good one, such as `{ RCPT: '550 5.1.1 no such user' }`. */
  | Partial<Record<'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'END', string>>;

export interface Received {
  from: string;
  to: string[];
  /** Headers and body as they came over the wire, without the dot stuffing. */
  data: string;
  credentials?: string;
}

export interface FakeSmtp {
  url: string;
  port: number;
  received: Received[];
  behave(manner: Manner): void;
}

/** A mail server of a few commands (RFC 5321), for mail that leaves us. Loopback, a port of its own. */
export async function fakeSmtp(t: TestContext): Promise<FakeSmtp> {
  let manner: Manner = 'accept';
  const received: Received[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    session(socket, () => manner, received);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `smtp://127.0.0.1:${port}`, port, received, behave: (next) => (manner = next) };
}

function session(socket: Socket, mannerNow: () => Manner, received: Received[]) {
  const say = (line: string) => mannerNow() !== 'silent' && socket.write(`${line}\r\n`);
  let message: Received = { from: '', to: [], data: '' };
  let inData = false;
  let buffered = '';

  const command = (line: string) => {
    const manner = mannerNow();
    const special = specialOf(manner);
    const verb = line.slice(0, 4).toUpperCase() as keyof typeof special;
    if (special[verb]) return say(special[verb]);
    switch (verb as string) {
      case 'EHLO':
        return say('250-fake.example\r\n250-8BITMIME\r\n250 AUTH PLAIN');
      case 'AUTH':
        message.credentials = Buffer.from(line.split(' ')[2] ?? '', 'base64')
          .toString()
          .split('\0')
          .slice(1)
          .join(':');
        return say('235 2.7.0 accepted');
      case 'MAIL':
        message = { ...message, from: address(line), to: [], data: '' };
        return say('250 2.1.0 ok');
      case 'RCPT':
        message.to.push(address(line));
        return say('250 2.1.5 ok');
      case 'DATA':
        if (manner === 'drop') return socket.destroy();
        inData = true;
        return say('354 go on');
      case 'QUIT':
        say('221 2.0.0 bye');
        return socket.end();
      default:
        return say('250 2.0.0 ok');
    }
  };

  const line = (text: string) => {
    if (!inData) return command(text);
    if (text !== '.') {
      message.data += `${text.replace(/^\./, '')}\r\n`;
      return;
    }
    inData = false;
    const special = specialOf(mannerNow());
    if (special.END) return say(special.END);
    received.push(message);
    say(`250 2.0.0 queued as ${received.length}`);
  };

  say('220 fake.example ESMTP');
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    buffered += chunk;
    for (let end = buffered.indexOf('\r\n'); end >= 0; end = buffered.indexOf('\r\n')) {
      const text = buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
      line(text);
    }
  });
}

const specialOf = (manner: Manner) => (typeof manner === 'object' ? manner : {});

const address = (line: string) => /<([^>]*)>/.exec(line)?.[1] ?? '';
