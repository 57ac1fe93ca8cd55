import type { Row } from './matrix.ts';
import { isOrganizationRole, type Subject, subjects } from './world.ts';

const columnWidth = 5;
const titles: Record<string, string> = {
  owner: 'own',
  admin: 'adm',
  member: 'mem',
  viewer: 'view',
  editor: 'edit',
  narrowed: 'here',
  elsewhere: 'else',
  outsider: 'out',
};

interface Column {
  /** Stands above the first of its columns. */
  group: string;
  title: string;
}

const columns: Column[] = subjects.map((subject: Subject) => {
  const [service, tier] = subject.split('.') as [string, string | undefined];
  const group = tier
    ? service
    : isOrganizationRole(subject)
      ? 'organization'
      : subject === 'narrowed' || subject === 'elsewhere'
        ? 'narrowed'
        : 'strangers';
  return { group, title: titles[tier ?? service] ?? tier ?? service };
});

const isFirst = (i: number) => columns[i]!.group !== columns[i - 1]?.group;
const cells = (texts: string[]) => texts.map((text, i) => (isFirst(i) ? '| ' : '') + text.padEnd(columnWidth)).join('');
const groupLine = () =>
  columns
    .map(({ group }, i) => ({ group, width: columns.filter((c) => c.group === group).length * columnWidth, first: isFirst(i) }))
    .filter((g) => g.first)
    .map((g) => `| ${g.group.padEnd(g.width)}`)
    .join('');

const sessionCells = (row: Row, age: 'fresh' | 'stale') => cells(row.cells.map((c) => c.bySession?.[age] ?? '–'));
const named = ({ what }: Row, how: string) => (what ? `${what}, ${how}` : how);

/** The committed text: one line a row, one column a subject. */
export function render(rows: Row[]): string {
  const first = Math.max(...rows.map((r) => r.spec.id.length));
  const second = Math.max(
    ...rows.map((r) => (r.spec.fresh ? named(r, 'by an old session') : r.spec.session ? named(r, 'by a session') : r.what).length),
  );
  const line = (operation: string, what: string, rest: string) => `${operation.padEnd(first)}  ${what.padEnd(second)}  ${rest}`.trimEnd();
  return [
    '# Every served operation × what its path names × who asks → status. Rewritten with QUARTERDECK_UPDATE=1; read every line that changes.',
    '# own, other, unknown: a thing of the organization, of another one, of nobody. 200+: the list shows a thing that was made for the row.',
    '# Service roles are granted to plain members. narrowed: an owner’s token, narrowed to the very thing asked for (here) or to another',
    '# one (else). strangers: no token at all; the owner of another organization (out); one whose organization is entitled to nothing (bare).',
    '# A session of the same person gets the same answers, but for operations marked in the contract: their further rows say what it gets.',
    '#',
    line('#', '', groupLine()),
    line('# operation', 'named', cells(columns.map((c) => c.title))),
    ...rows.flatMap((r) => [
      line(r.spec.id, r.what, cells(r.cells.map((c) => c.text))),
      ...(r.spec.session ? [line(r.spec.id, named(r, 'by a session'), sessionCells(r, 'fresh'))] : []),
      ...(r.spec.fresh ? [line(r.spec.id, named(r, 'by an old session'), sessionCells(r, 'stale'))] : []),
    ]),
    '',
  ].join('\n');
}
