import { decodeWords } from './decode.ts';
import { addField, type Fields, fieldOf } from './fields.ts';

/** The RFC 3464 fields of one recipient. */
export interface StatusGroup {
  address?: string;
  original?: string;
  action?: string;
  /** For example 5.1.1. */
  status?: string;
  diagnostic: string;
  remoteMta?: string;
}

const maxRecipients = 20;
const recipientFields = new Set(['final-recipient', 'original-recipient', 'x-actual-recipient']);

/** Recipient groups of a delivery-status part, or of a text that contains its fields. */
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
      // Some servers omit the empty line between recipients.
      if (name !== undefined && recipientFields.has(name) && fieldOf(group, name) !== undefined) close();
      addField(group, line);
    }
  }
  close();
  return groups.flatMap(readGroup).slice(0, maxRecipients);
}

function readGroup(fields: Fields): StatusGroup[] {
  const has = (name: string) => fieldOf(fields, name) !== undefined;
  if (![...recipientFields].some(has) && !(has('action') && has('status'))) return [];
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

/** Removes the type of `smtp; 550 …`. */
const withoutType = (value: string): string => value.replace(/^[\w./-]{1,30}[ \t]*;[ \t]*/, '').trim();

/** The first address in the value. */
export const addressIn = (value: string | undefined): string | undefined =>
  /[^\s<>;:,"()[\]]{1,64}@[\w.-]{1,255}/.exec((value ?? '').slice(0, 1_000))?.[0];
