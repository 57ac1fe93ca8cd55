import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';

// The Twilio REST calls that paging needs. The operator sets the address, so requests bypass the SSRF guard.

export interface Account {
  url: string;
  accountSid: string;
  authToken: string;
}

/** A refusal by Twilio, with its error code if there is one. */
export class TwilioRefusal extends Error {
  readonly status: number;
  readonly code: number | undefined;

  constructor(status: number, code: number | undefined, sentence: string) {
    super(sentence);
    this.name = 'TwilioRefusal';
    this.status = status;
    this.code = code;
  }
}

/** Twilio did not answer, or its answer is invalid: retry. */
export class TwilioUnavailable extends Error {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'TwilioAway';
  }
}

const timeoutMs = 5_000;
const maxAnswerLength = 1_000_000;

async function call(account: Account, method: 'GET' | 'POST', path: string, fields: [string, string][] = []): Promise<unknown> {
  const form = new URLSearchParams(fields);
  const query = method === 'GET' && fields.length ? `?${form}` : '';
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`${account.url}/2010-04-01/Accounts/${account.accountSid}${path}.json${query}`, {
      method,
      headers: { authorization: `Basic ${Buffer.from(`${account.accountSid}:${account.authToken}`).toString('base64')}` },
      ...(method === 'POST' ? { body: form } : {}),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await answer.text();
  } catch (error) {
    throw new TwilioUnavailable('the provider cannot be reached', { cause: error });
  }
  if (text.length > maxAnswerLength) throw new TwilioUnavailable('the provider’s answer is too large');
  const body = parsed(text);
  if (answer.ok && body) return body;
  if (answer.status >= 500 || answer.status === 429 || answer.ok) throw new TwilioUnavailable(`the provider answered ${answer.status}`);
  const { code, message } = (body ?? {}) as { code?: number; message?: string };
  throw new TwilioRefusal(
    answer.status,
    typeof code === 'number' ? code : undefined,
    typeof message === 'string' ? message.slice(0, 300) : `the provider answered ${answer.status}`,
  );
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const validated = <S extends Type.TSchema>(schema: S) => {
  const validator = Compile(schema);
  return (body: unknown): Static<S> => {
    if (!validator.Check(body)) throw new TwilioUnavailable('the provider’s answer is not what its documentation says');
    return body as Static<S>;
  };
};

const AccountAnswer = validated(Type.Object({ status: Type.String() }));
const NumbersAnswer = validated(
  Type.Object({
    incoming_phone_numbers: Type.Array(Type.Object({ capabilities: Type.Object({ sms: Type.Boolean(), voice: Type.Boolean() }) })),
  }),
);
const CreatedAnswer = validated(Type.Object({ sid: Type.String() }));
const Item = { sid: Type.String(), status: Type.String() };
const MessagesAnswer = validated(
  Type.Object({ messages: Type.Array(Type.Object({ ...Item, body: Type.Union([Type.String(), Type.Null()]) })) }),
);
const CallsAnswer = validated(Type.Object({ calls: Type.Array(Type.Object({ ...Item, date_created: Type.String() })) }));

export const fetchAccount = async (account: Account) => AccountAnswer(await call(account, 'GET', ''));

export const findNumber = async (account: Account, phone: string) =>
  NumbersAnswer(await call(account, 'GET', '/IncomingPhoneNumbers', [['PhoneNumber', phone]])).incoming_phone_numbers[0];

export interface OutgoingMessage {
  to: string;
  from: string;
  body: string;
  statusCallback?: string;
}

/** Twilio drops the message after five minutes: a page that arrives an hour late wakes the wrong person. */
const validitySeconds = '300';

export const sendMessage = async (account: Account, m: OutgoingMessage) =>
  CreatedAnswer(
    await call(account, 'POST', '/Messages', [
      ['To', m.to],
      ['From', m.from],
      ['Body', m.body],
      ['ValidityPeriod', validitySeconds],
      ...(m.statusCallback ? [['StatusCallback', m.statusCallback] as [string, string]] : []),
    ]),
  ).sid;

export interface OutgoingCall {
  to: string;
  from: string;
  twiml: string;
  statusCallback?: string;
}

export const startCall = async (account: Account, c: OutgoingCall) =>
  CreatedAnswer(
    await call(account, 'POST', '/Calls', [
      ['To', c.to],
      ['From', c.from],
      ['Twiml', c.twiml],
      ['Timeout', '30'],
      ...(c.statusCallback ? [['StatusCallback', c.statusCallback] as [string, string]] : []),
    ]),
  ).sid;

/** Messages to a phone on or after a day: Twilio filters by whole days. */
export const messagesTo = async (account: Account, to: string, from: string, since: string) =>
  MessagesAnswer(
    await call(account, 'GET', '/Messages', [
      ['To', to],
      ['From', from],
      ['DateSent>', since.slice(0, 10)],
      ['PageSize', '100'],
    ]),
  ).messages;

export const callsTo = async (account: Account, to: string, from: string, since: string) =>
  CallsAnswer(
    await call(account, 'GET', '/Calls', [
      ['To', to],
      ['From', from],
      ['StartTime>', since.slice(0, 10)],
      ['PageSize', '100'],
    ]),
  ).calls;
