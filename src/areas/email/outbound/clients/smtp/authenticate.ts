import type { SmtpConnection } from './connection.ts';
import { SmtpFailure } from './failure.ts';
import { printReply, type Reply } from './replies.ts';
import type { ServerExtensions } from './session.ts';

export interface Credentials {
  user: string;
  password: string;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Logs in at the smart host: PLAIN where offered (RFC 4616), otherwise LOGIN, the only method of some servers. */
export async function authenticate(connection: SmtpConnection, { user, password }: Credentials, { auth }: ServerExtensions): Promise<void> {
  const say = async (line: string): Promise<Reply> => {
    connection.write(`${line}\r\n`);
    return connection.reply('auth');
  };
  let reply: Reply;
  if (auth.includes('PLAIN') || !auth.includes('LOGIN')) {
    reply = await say(`AUTH PLAIN ${base64(`\0${user}\0${password}`)}`);
  } else {
    reply = await say('AUTH LOGIN');
    if (reply.code === 334) reply = await say(base64(user));
    if (reply.code === 334) reply = await say(base64(password));
  }
  if (reply.code !== 235) {
    throw new SmtpFailure('auth', 'reply', `${connection.host} does not accept the user name and password: ${printReply(reply)}`, {
      reply,
    });
  }
}
