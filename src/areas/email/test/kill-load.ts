import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { caller } from '../../../../test/harness/request.ts';

/** One message that was handed in, whatever was answered. */
export interface Letter {
  token: string;
  door: 'smtp' | 'http';
  to: string[];
  /** `unanswered`: the answer was lost with the server, or said that it does not know. */
  answer: 'accepted' | 'refused' | 'unanswered';
}

export interface Load {
  readonly letters: Letter[];
  accepted(): number;
  /** Goes on until `stop`; a server that is away is waited for. */
  start(): void;
  stop(): Promise<void>;
}

interface LoadOptions {
  secret: string;
  doors: { smtp: number; url(): Promise<string | undefined> }[];
}

const smtpSessions = 3;
const httpClients = 2;

/** Programs that hand in mail at every door. What they are not answered they hand in again only with an Idempotency-Key. */
export function loadOn({ secret, doors }: LoadOptions): Load {
  const letters: Letter[] = [];
  let made = 0;
  let going = false;
  let running: Promise<unknown> | undefined;

  const write = (door: Letter['door']): Letter => {
    const n = made++;
    const token = `m${n}`;
    const kinds = [['a'], ['a', 'b'], ['gone'], ['a', 'gone'], ['grey'], ['a', 'a2', 'a3']];
    const to = kinds[n % kinds.length]!.map((kind) => `${kind}-${token}@far.example`);
    const letter: Letter = { token, door, to, answer: 'unanswered' };
    letters.push(letter);
    return letter;
  };
  const speak = async (door: LoadOptions['doors'][number], n: number) => {
    const words = await converse(door.smtp);
    await words.say('EHLO client.example');
    if (!(await words.say(`AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`)).startsWith('235')) return words.end();
    for (let i = 0; going && !words.isOver(); i++) {
      // Every seventh is from a domain that is not ours; every ninth is large enough not to go through memory.
      const letter = write('smtp');
      const from = i % 7 === 6 ? 'ada@elsewhere.example' : 'ada@example.com';
      const begun = await words.say(`MAIL FROM:<${from}>`);
      if (!begun.startsWith('250')) {
        letter.answer = 'refused';
        await sleep(50);
        continue;
      }
      for (const who of letter.to) await words.say(`RCPT TO:<${who}>`);
      await words.say('DATA');
      const filling = i % 9 === 8 ? 'x'.repeat(70).concat('\r\n').repeat(5_000) : '';
      const head = `From: ${from}\r\nTo: ${letter.to.join(', ')}\r\nSubject: ${letter.token}\r\n`;
      const said = await words.say(`${head}\r\nthe body of ${letter.token}\r\n${filling}.`);
      letter.answer = said.startsWith('250') ? 'accepted' : said.startsWith('5') ? 'refused' : 'unanswered';
      if (n === 0) await sleep(20);
    }
    words.end();
  };
  const post = async (n: number) => {
    for (let i = 0; going; i++) {
      const many = i % 4 === 3 ? [write('http'), write('http'), write('http')] : [write('http')];
      const isForeign = i % 7 === 6;
      const bodies = many.map(({ token, to }) => ({
        from: isForeign ? 'ada@elsewhere.example' : 'ada@example.com',
        to,
        subject: token,
        text: `the body of ${token}\n`,
      }));
      const hasKey = i % 2 === 0;
      const headers: Record<string, string> = hasKey ? { 'idempotency-key': `key-${many[0]!.token}` } : {};
      for (let turn = n; ; turn++) {
        const url = await doors[turn % doors.length]!.url();
        if (!url) {
          await sleep(20);
          if (going) continue;
          return;
        }
        const [path, body] = many.length > 1 ? ['/email/send/batch', { messages: bodies }] : ['/email/send', bodies[0]];
        const answer = await caller(url, secret)
          .post(path as string, body, headers)
          .catch(() => undefined);
        const isLost = !answer || answer.status >= 500 || (answer.status === 409 && answer.body.error?.code === 'idempotency_running');
        for (const letter of many)
          letter.answer = isLost ? 'unanswered' : answer.status === 202 || answer.status === 200 ? 'accepted' : 'refused';
        // A request too many was refused before anything was looked at.
        if (answer?.status === 429) await sleep(200);
        if (!isLost || !hasKey) break;
        await sleep(50);
      }
    }
  };
  const always = async (act: () => Promise<void>) => {
    while (going) {
      await act().catch(() => {});
      if (going) await sleep(20);
    }
  };

  return {
    letters,
    accepted: () => letters.filter(({ answer }) => answer === 'accepted').length,
    start() {
      if (going) return;
      going = true;
      running = Promise.all([
        ...doors.flatMap((door) => Array.from({ length: smtpSessions }, (_, n) => always(() => speak(door, n)))),
        ...Array.from({ length: httpClients }, (_, n) => always(() => post(n))),
      ]);
    },
    async stop() {
      going = false;
      await running;
    },
  };
}

/** Speaks SMTP, a line and its answer at a time. Once the other side is gone, every answer is empty. */
async function converse(port: number) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isOver = false;
  let wake = () => {};
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isOver = true;
    wake();
  });
  const hear = async (): Promise<string> => {
    for (;;) {
      const whole = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3} [^\r\n]*\r\n/.exec(text)?.[0];
      if (whole) {
        text = text.slice(whole.length);
        return whole;
      }
      if (isOver) throw new Error('the server is gone');
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  await hear();
  return {
    say(line: string): Promise<string> {
      socket.write(`${line}\r\n`, 'latin1');
      return hear();
    },
    isOver: () => isOver,
    end: () => void socket.destroy(),
  };
}
