import type { Conversation } from './conversation.ts';
import { SmtpFailure } from './failure.ts';
import { printReply, type Reply } from './replies.ts';
import type { Offers } from './session.ts';

export interface Credentials {
  user: string;
  password: string;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** At the smart host. PLAIN where it is offered (RFC 4616), else LOGIN, which some know alone. */
export async function authenticate(conversation: Conversation, { user, password }: Credentials, { auth }: Offers): Promise<void> {
  const say = async (line: string): Promise<Reply> => {
    conversation.write(`${line}\r\n`);
    return conversation.reply('auth');
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
    throw new SmtpFailure('auth', 'reply', `${conversation.host} does not accept the user name and password: ${printReply(reply)}`, {
      reply,
    });
  }
}
