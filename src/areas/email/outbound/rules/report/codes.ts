/** Codes in a text, and the command that was refused. */
export interface Codes {
  code?: number;
  enhanced?: string;
  stage: string;
}

const reply = /(?:^|[\s:;("'#[\]<-])([245]\d\d)(?=$|[\s.:,;)"'#>-])(?:[ -]#?\(?([245]\.\d{1,3}\.\d{1,3})\b)?/g;
const bare = /(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;

/** Session transcripts and "in reply to" phrases name the command; the last one was refused. */
const framed = joined(
  /(end[ _-]of[ _-]data|after (?:the final|sending) (?:data|message|dot)|sending message body|failed after i sent the message|\(state 1[5678]\))/,
  /(?:>>> ?|<<< ?(?=rcpt to:)|^[ \t]*(?=rcpt to:)|after |following |(?:in reply|response) to |\[|command:? ?)(rcpt(?:[ _]to)?)\b|\b(does not like recipient)\b|(\(state 1[34]\))/,
  /(?:>>> ?|<<< ?(?=mail from:)|^[ \t]*(?=mail from:)|after |following |(?:in reply|response) to |\[|command:? ?)(mail(?:[ _]from)?)\b|\b(does not like sender|but sender was rejected)\b/,
  /(?:>>> ?|<<< ?(?=data\s)|in reply to |after (?:pipelined )?|following |\[|command:? ?|smtp command\s{1,3})(data)\b/,
  /(?:>>> ?|in reply to |after |the )(helo|ehlo|initial connection)|\b(my name was rejected)\b/,
  /\b(initial (?:smtp )?greeting|connection greeting|rejection greeting|greeting failed)\b/,
);
const framedStages = ['', 'dot', 'rcpt', 'rcpt', 'rcpt', 'mail', 'mail', 'data', 'connect', 'connect', 'connect'];
/** In plain sentences RCPT gives the stage only if MAIL is not mentioned too; MAIL alone gives none. */
const mentioned = joined(/\b(rcpt[ _]to)\b/, /\b(mail[ _]from)\b/);
const mentionedStages = ['', 'rcpt', ''];

function joined(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'gim');
}

export function readCodes(text: string): Codes {
  const head = text.slice(0, 8_000);
  let code: number | undefined;
  const enhanced: string[] = [];
  for (const found of head.matchAll(reply)) {
    if (Number(found[1]) < 400) continue;
    code ??= Number(found[1]);
    if (found[2] !== undefined) enhanced.push(found[2]);
  }
  if (enhanced.length === 0) for (const code of bare.exec(head)?.slice(1) ?? []) enhanced.push(code);
  const failures = enhanced.filter((one) => !one.startsWith('2'));
  const best = failures.find(isSpecific) ?? failures[0];
  return { ...(code === undefined ? {} : { code }), ...(best === undefined ? {} : { enhanced: best }), stage: readStage(head) };
}

/** X.0.Y and X.5.0 give no specific reason. */
export const isSpecific = (enhanced: string | undefined): boolean => enhanced !== undefined && !/^\d\.(?:0\.\d+|5\.0)$/.test(enhanced);

function readStage(text: string): string {
  const inFrames = stagesIn(text, framed, framedStages);
  if (inFrames.length > 0) return inFrames.at(-1)!;
  const inWords = new Set(stagesIn(text, mentioned, mentionedStages));
  if (inWords.has('rcpt')) return inWords.size === 1 ? 'rcpt' : '';
  return openSmtpd.test(text) ? 'rcpt' : '';
}

/** OpenSMTPD quotes each recipient's reply without the command; a reply about one recipient answers RCPT. */
const openSmtpd = /this is the mailer-daemon, please do not reply to this e-?mail/i;

const stagesIn = (text: string, pattern: RegExp, stages: readonly string[]): string[] =>
  [...text.matchAll(pattern)].map((found) => stages[found.findIndex((group, n) => n > 0 && group !== undefined)]!);
