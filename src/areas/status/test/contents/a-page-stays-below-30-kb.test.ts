import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type BoardInput, boardOf } from '../../rules/board.ts';
import { renderHistory } from '../../views/render/history.ts';
import { renderStatusPage } from '../../views/render/status-page.ts';
import { days, months } from '../support.ts';

const now = '2026-11-15T05:00:00.000Z';
const most = 30_000;
const at = (hoursAgo: number) => new Date(Date.parse(now) - hoursAgo * 3_600_000).toISOString();

interface Size {
  services: number;
  /** Days on which each service was down, of the last 90. */
  bad: number;
  open: number;
  past: number;
  updates: number;
  words: number;
}

function facts({ services, bad, open, past, updates, words }: Size): BoardInput {
  const list = Array.from({ length: services }, (_, n) => ({ id: `svc_${n}`, name: `Service with a name of its own ${n}` }));
  const down = Object.fromEntries(Array.from({ length: bad }, (_, n) => [(n * 2) % 90, 600 + n]));
  const incident = (n: number, isOpen: boolean) => ({
    id: `inc_${isOpen}_${n}`,
    serviceId: list[n % services]!.id,
    serviceName: list[n % services]!.name,
    title: `Something happened that is told in one sentence, number ${n}`,
    state: isOpen ? ('investigating' as const) : ('resolved' as const),
    openedAt: at(n * 6 + 2),
    ...(isOpen ? {} : { resolvedAt: at(n * 6 + 1) }),
    updates: Array.from({ length: updates }, (_, u) => ({
      id: `upd_${isOpen}_${n}_${u}`,
      at: at(n * 6 + 1),
      body: 'word '.repeat(words).trim(),
      state: 'investigating' as const,
    })),
    updateCount: updates,
  });
  const observed = days(now.slice(0, 10), 190, down);
  return {
    page: {
      id: 'stp_1',
      slug: 'acme',
      title: 'Acme Cloud',
      description: 'All of it',
      serviceIds: list.map((s) => s.id),
      groups: [],
      accent: '#7a3cff',
      timezone: 'Europe/Paris',
      createdAt: at(9_000),
      updatedAt: at(8_000),
    },
    url: 'https://status.example.com/acme',
    now,
    services: new Map(list.map((s) => [s.id, s.name])),
    incidents: [
      ...Array.from({ length: open }, (_, n) => incident(n, true)),
      ...Array.from({ length: past }, (_, n) => incident(n, false)),
    ],
    observed: new Map(list.map((s) => [s.id, { state: 'up' as const, days: observed.slice(-90), months: months(observed) }])),
    maintenance: [],
    subscribable: true,
  };
}

const sizes: Record<string, Size> = {
  'an ordinary one': { services: 8, bad: 2, open: 1, past: 4, updates: 4, words: 40 },
  'a company on fire': { services: 20, bad: 30, open: 6, past: 44, updates: 12, words: 120 },
  'a hundred services, everything often down': { services: 100, bad: 45, open: 10, past: 40, updates: 3, words: 2_000 },
};

for (const [name, size] of Object.entries(sizes)) {
  test(`${name} is under 30 KB, and the history tells what did not fit`, () => {
    const board = boardOf(facts(size));
    const { html } = renderStatusPage(board);
    assert.ok(Buffer.byteLength(html) < most, `${Buffer.byteLength(html)} bytes`);
    assert.ok(gzipSync(html).length < 10_000);
    const first = [...board.open, ...board.past][0]!;
    assert.ok(html.includes(first.title), 'the newest open incident is always there');
    for (const s of board.groups.flatMap((g) => g.services)) assert.ok(html.includes(s.name));
    const history = renderHistory(board).html;
    for (const i of [...board.open, ...board.past]) assert.ok(history.includes(`id="${i.id}"`));
    const links = [...html.matchAll(/history#([a-z0-9]+)"/g)].map((m) => m[1]!);
    for (const id of links) assert.ok(history.includes(`id="${id}"`));
  });
}

test('an ordinary page shows everything in full', () => {
  const { html } = renderStatusPage(boardOf(facts(sizes['an ordinary one']!)));
  assert.equal(html.match(/class="bar"/g)!.length, 8);
  assert.equal(html.match(/<details>/g)!.length, 8);
  assert.ok(html.match(/<li><b>Investigating/g)!.length >= 8);
});
