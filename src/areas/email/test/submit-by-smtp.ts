import type { TestContext } from 'node:test';
import { freePort } from '../../../../test/harness/free-port.ts';
import { speakSmtp } from './smtp-scene.ts';

/** Where programs hand in mail by SMTP. */
export async function ownSmtpPort() {
  const port = await freePort();
  return { port, env: { QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${port}` } };
}

/** Hands one message in by SMTP; what was answered to it. */
export async function submitBySmtp(t: TestContext, port: number, secret: string, to: string[], text = 'Hello.'): Promise<string> {
  const { beginMessage, say, socket } = await speakSmtp(t, port);
  const begun = await beginMessage(secret, to);
  if (!begun.startsWith('354')) return begun;
  const said = await say(`From: ada@example.com\r\nTo: ${to.join(', ')}\r\nSubject: Hello\r\n\r\n${text}\r\n.`);
  socket.destroy();
  return said;
}
