import { decodeWords } from './decode.ts';
import { addField, type Fields, fieldOf } from './fields.ts';

/** What RFC 3464 says of one recipient, in the words of the report. */
export interface StatusGroup {
  address?: string;
  original?: string;
  action?: string;
  /** Of the form 5.1.1. */
  status?: string;
  diagnostic: string;
  remoteMta?: string;
}

const mostRecipients = 20;
const isRecipients = new Set(['final-recipient', 'original-recipient', 'x-actual-recipient']);

/** The groups about recipients, in a part of their own or in the text of whoever knows the fields and not the format. */
export function readStatus(text: string): StatusGroup[] {
  const groups: Fields[] = [];
  let group: Fields = [];
  const close = () => {
    if (group.length) groups.push(group);
    group = [];
  };
  for (const line of text.split('\n', 4_000)) {
    if (line.trim() === '') close();
    else {
      const name = /^([\w-]{1,40})[ \t]*:/.exec(line)?.[1]?.toLowerCase();
      // Some leave out the empty line between two recipients.
      if (name !== undefined && isRecipients.has(name) && fieldOf(group, name) !== undefined) close();
      addField(group, line);
    }
  }
  close();
  return groups.flatMap(readGroup).slice(0, mostRecipients);
}

function readGroup(fields: Fields): StatusGroup[] {
  const has = (name: string) => fieldOf(fields, name) !== undefined;
  if (![...isRecipients].some(has) && !(has('action') && has('status'))) return [];
  const address = addressIn(fieldOf(fields, 'final-recipient')) ?? addressIn(fieldOf(fields, 'x-actual-recipient'));
  const original = addressIn(fieldOf(fields, 'original-recipient'));
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(fieldOf(fields, 'status') ?? '')?.[1];
  const action = /^[a-z]+/i.exec(fieldOf(fields, 'action') ?? '')?.[0].toLowerCase();
  const remoteMta = withoutType(fieldOf(fields, 'remote-mta') ?? '');
  const spoken = fields.filter(([name]) => name === 'diagnostic-code' || name === 'x-supplementary-info');
  return [
    {
      ...(address === undefined ? {} : { address }),
      ...(original === undefined ? {} : { original }),
      ...(action === undefined ? {} : { action }),
      ...(status === undefined ? {} : { status }),
      diagnostic: spoken.map(([, value]) => withoutType(decodeWords(value))).join(' '),
      ...(remoteMta ? { remoteMta } : {}),
    },
  ];
}

/** `smtp; 550 …` without its type. */
const withoutType = (value: string): string => value.replace(/^[\w./-]{1,30}[ \t]*;[ \t]*/, '').trim();

/** The first address that stands there. */
export const addressIn = (value: string | undefined): string | undefined =>
  /[^\s<>;:,"()[\]]{1,64}@[\w.-]{1,255}/.exec((value ?? '').slice(0, 1_000))?.[0];
