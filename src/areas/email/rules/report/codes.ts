/** What a sentence for people says in numbers, and which command it answered. */
export interface Codes {
  code?: number;
  enhanced?: string;
  stage: string;
}

const reply = /(?:^|[\s:;("'#[\]<-])([245]\d\d)(?=$|[\s.:,;)"'#>-])(?:[ -]#?\(?([245]\.\d{1,3}\.\d{1,3})\b)?/g;
const bare = /(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;

/** Whoever shows a session names its commands as they come: what was refused is the last of them. */
const named = new RegExp(
  [
    /(end[ _-]of[ _-]data|after (?:the final|sending) (?:data|message|dot)|sending message body|failed after i sent the message|\(state 1[5678]\))/,
    /\b(rcpt[ _]to|(?<=>>> ?|after |following |to |\[)rcpt|does not like recipient)\b|(\(state 1[34]\))/,
    /\b(mail[ _]from|does not like sender|but sender was rejected)\b/,
    /(?:>>> ?|in reply to |after (?:pipelined )?|following |\[|command:? ?|smtp command\s{1,3})(data)\b/,
    /(?:>>> ?|in reply to |after |the )(helo|ehlo|initial connection)|\b(my name was rejected)\b/,
    /\b(initial (?:smtp )?greeting|connection greeting|rejection greeting|greeting failed)\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gi',
);
const stageOf = ['', 'dot', 'rcpt', 'rcpt', 'mail', 'data', 'connect', 'connect', 'connect'];

export function readCodes(text: string): Codes {
  const head = text.slice(0, 8_000);
  let code: number | undefined;
  const enhanced: string[] = [];
  for (const found of head.matchAll(reply)) {
    if (Number(found[1]) < 400) continue;
    code ??= Number(found[1]);
    if (found[2] !== undefined) enhanced.push(found[2]);
  }
  if (enhanced.length === 0) enhanced.push(...(bare.exec(head)?.slice(1) ?? []));
  const told = enhanced.filter((one) => !one.startsWith('2'));
  const best = told.find(isTelling) ?? told[0];
  return { ...(code === undefined ? {} : { code }), ...(best === undefined ? {} : { enhanced: best }), stage: readStage(head) };
}

/** X.0.Y and X.5.0 say that something was refused, and nothing else. */
export const isTelling = (enhanced: string | undefined): boolean => enhanced !== undefined && !/^\d\.(?:0\.\d+|5\.0)$/.test(enhanced);

function readStage(text: string): string {
  let last = '';
  for (const found of text.matchAll(named)) last = stageOf[found.findIndex((group, n) => n > 0 && group !== undefined)]!;
  return last;
}
