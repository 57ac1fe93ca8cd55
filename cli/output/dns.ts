import type { Column } from '../../sdk/commands.ts';
import { isEmpty, isObject, type Json } from '../../sdk/values.ts';
import { printable } from '../printable.ts';
import { type Look, styled } from './look.ts';
import { cellOf, oneLine } from './values.ts';

interface DnsRecord {
  type: string;
  name: string;
  value: string;
  priority?: number;
  outcome?: string;
}

/** Lists of records to publish, and of what was found in their place. */
export const isDnsList = (columns: Column[]) => {
  const keys = new Set(columns.map(({ key }) => key));
  return keys.has('type') && keys.has('name') && (keys.has('value') || keys.has('expected'));
};

/** A record as a block: name and value whole, each on a line of its own, to be pasted into a provider's form. */
export function dnsBlocks(rows: Json[], look: Look): string {
  return rows
    .map((row) => {
      const { type, name, value, priority } = recordOf(row);
      const found = row['outcome'] === undefined ? undefined : cellOf(row['outcome'], 'outcome', 'state', look);
      const head = [
        ...(found ? [styled(found.style, found.text, look)] : []),
        styled('bold', oneLine(printable(type)), look),
        ...(row['capability'] ? [`to ${oneLine(printable(String(row['capability'])))}`] : []),
        ...(row['required'] === false ? ['(advised)'] : []),
      ].join('  ');
      const fields: [string, unknown][] = [
        ['name', name],
        ['value', value],
        ['priority', priority],
        ...(row['outcome'] === 'found'
          ? []
          : ([
              ['found', row['observed'] ?? row['observedAll']],
              ['reason', row['reason']],
            ] as [string, unknown][])),
      ];
      const lines = fields
        .filter(([, v]) => !isEmpty(v))
        .map(
          ([label, v]) =>
            `    ${styled('dim', label.padEnd(8), look)}  ${[v]
              .flat()
              .map((each) => oneLine(printable(String(each))))
              .join(', ')}`,
        );
      return [`  ${head}`, ...lines, ''].join('\n');
    })
    .join('\n');
}

const recordOf = (row: Json): DnsRecord => ({
  type: String(row['type']),
  name: String(row['name']),
  value: String(row['value'] ?? row['expected']),
  ...(typeof row['priority'] === 'number' ? { priority: row['priority'] } : {}),
  ...(typeof row['outcome'] === 'string' ? { outcome: row['outcome'] } : {}),
});

/** Every DNS record of the answer, wherever it stands; undefined where it has no such list. */
export function recordsOf(answer: Json): DnsRecord[] | undefined {
  const isRecord = (v: unknown) => isObject(v) && 'type' in v && 'name' in v && ('value' in v || 'expected' in v);
  const lists = Object.entries(answer).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return [];
    if (key === 'dnsRecords' || key === 'records') return [value.filter(isRecord).map((row) => recordOf(row as Json))];
    return value.filter(isObject).flatMap((item) => (Array.isArray(item['dnsRecords']) ? [recordsOf(item)!] : []));
  });
  return lists.length ? lists.flat() : undefined;
}

const ttl = 3600;

/** The records as lines of a zone file (RFC 1035, 5.1), with absolute names. */
export function zoneFile(records: DnsRecord[]): string {
  return records
    .map((record) => {
      const note = record.outcome && record.outcome !== 'found' ? ` ; ${record.outcome.replaceAll(/[^a-z-]/g, '')}` : '';
      return `${absolute(record.name)}\t${ttl}\tIN\t${record.type.replaceAll(/[^A-Za-z0-9]/g, '')}\t${data(record)}${note}\n`;
    })
    .join('');
}

function data({ type, value, priority }: DnsRecord): string {
  if (type === 'TXT') return txtStrings(value);
  return type === 'MX' ? `${priority ?? 10} ${absolute(value)}` : absolute(value);
}

/** Strings of at most 255 bytes (RFC 1035, 3.3.14): resolvers join them again. */
function txtStrings(value: string): string {
  const all = Buffer.from(value);
  const strings: string[] = [];
  for (let at = 0; at < all.length || at === 0; at += 255) strings.push(`"${Array.from(all.subarray(at, at + 255), quotedByte).join('')}"`);
  return strings.join(' ');
}

const quotedByte = (byte: number) =>
  byte === 0x22 || byte === 0x5c
    ? `\\${String.fromCharCode(byte)}`
    : byte >= 0x20 && byte < 0x7f
      ? String.fromCharCode(byte)
      : decimal(byte);

/** A character that is not of a host name would be read as syntax. */
const absolute = (name: string) => {
  const text = Array.from(Buffer.from(name.replace(/\.$/, '')), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9._*-]/.test(character) ? character : decimal(byte);
  }).join('');
  return `${text}.`;
};

const decimal = (byte: number) => `\\${String(byte).padStart(3, '0')}`;
