import type { Message } from '../../../kernel/mail.ts';

export interface LateFacts {
  to: string;
  name: string;
  /** Null: there is no certificate yet. */
  until: string | null;
  isOver: boolean;
  /** What went wrong last. */
  reason: string | null;
}

export function lateMail({ to, name, until, isOver, reason }: LateFacts): Pick<Message, 'to' | 'subject' | 'text'> {
  const subject =
    until === null
      ? `No certificate for ${name} yet`
      : isOver
        ? `The certificate of ${name} has expired`
        : `The certificate of ${name} is not renewed`;
  const what =
    until === null
      ? `${name} has had no certificate for a day, and clients are shown one that they do not trust.`
      : isOver
        ? `The certificate of ${name} expired on ${until}. Clients refuse to connect.`
        : `The certificate of ${name} is valid until ${until}, and could not be renewed so far. It is presented until then.`;
  const text = `${what}

${reason === null ? 'No attempt has failed; is a server with the role worker running?' : `The last attempt: ${reason}.`}

It is tried again by itself. On the server, these say more:

  quarterdeck admin certificates list
  quarterdeck admin doctor
`;
  return { to, subject, text };
}
