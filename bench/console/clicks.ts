import type { Page } from 'playwright-core';
import { at, figure } from '../clusters/figure.ts';
import { type MeasuredConsole, tellLoad } from './measured-console.ts';
import { paintTime, type Seen } from './paint-clock.ts';

const rounds = 4;
const incidents = 24;

/** Listed screens by their title, with what each shows once it has its data. */
const tour: [title: string, seen: Seen][] = [
  ['Home', { selector: 'h1', text: 'Home' }],
  ['Incidents', { selector: 'main tbody th', text: 'checkout is slow' }],
  ['Schedules', { selector: 'h1', text: 'Schedules' }],
  ['Who is paged', { selector: 'main tbody th', text: 'service 1' }],
  ['Escalation policies', { selector: 'h1', text: 'Escalation policies' }],
  ['Alert sources', { selector: 'h1', text: 'Alert sources' }],
  ['Monitors', { selector: 'main tbody th', text: 'front door' }],
  ['Services', { selector: 'main tbody th', text: 'service 1' }],
  ['Maintenance', { selector: 'h1', text: 'Maintenance' }],
  ['Vantages', { selector: 'h1', text: 'Vantages' }],
  ['Status pages', { selector: 'h1', text: 'Status pages' }],
  ['Registries', { selector: 'h1', text: 'Registries' }],
  ['Members', { selector: 'main tbody th', text: 'bench-0.example' }],
  ['Audit log', { selector: 'main tbody' }],
];

/** A tour over the screens, twice: once with everything remembered, and where each click waits for one answer. */
export async function measureClicks({ page: newPage, screen, owner }: MeasuredConsole): Promise<void> {
  for (let n = 0; n < incidents; n++) {
    const body = { serviceId: `svc_${String((n % 20) + 1).padStart(26, '0')}`, title: `checkout is slow, ${n} of ${incidents}` };
    const { status } = await owner.post('/oncall/incidents', body);
    if (status !== 201) throw new Error(`an incident was answered ${status}`);
  }
  tellLoad();
  const page = await newPage();
  await page.goto(screen('/'));
  await page.locator('.live.live').waitFor();
  // The first time, a screen's part is loaded and its data asked for.
  for (const [title, seen] of tour) await visit(page, title, seen);

  const known = new Map<string, number[]>();
  const note = (what: string, tookMs: number) => known.set(what, [...(known.get(what) ?? []), tookMs]);
  for (let n = 0; n < rounds; n++) {
    for (const [title, seen] of tour) note(title, await visit(page, title, seen));
    await inPlace(page, note);
  }
  tell('click or key to paint, with nothing missing', known, 100);

  const asked = new Map<string, number[]>();
  const noteAsked = (what: string, tookMs: number) => asked.set(what, [...(asked.get(what) ?? []), tookMs]);
  await incidentsOneByOne(page, noteAsked);
  await monitorsOneByOne(page, noteAsked);
  tell('click to paint, with one request', asked, 200);
  await page.context().close();
}

type Note = (what: string, tookMs: number) => void;

const visit = (page: Page, title: string, seen: Seen) =>
  paintTime(page, seen, () => page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: title, exact: true }).click());

/** What stays on its screen: the menu, help, code, keys and filters. */
async function inPlace(page: Page, note: Note) {
  note('Ctrl K', await paintTime(page, { selector: '.action-menu[open] [role=option]' }, () => page.keyboard.press('Control+k')));
  await page.keyboard.press('r');
  note(
    'a letter in the menu',
    await paintTime(page, { selector: '.action-menu[open] [role=option]', text: 'Registr' }, () => page.keyboard.press('e')),
  );
  await page.keyboard.press('Escape');
  note('?', await paintTime(page, { selector: 'dialog[open] kbd', text: 'Ctrl K' }, () => page.keyboard.press('?')));
  await page.keyboard.press('Escape');
  const code = page.getByRole('button', { name: 'Show this as code' });
  note('as code', await paintTime(page, { selector: 'dialog[open] .as-code' }, () => code.click()));
  await page.keyboard.press('Escape');
  await visit(page, 'Monitors', { selector: 'main tbody th', text: 'front door' });
  for (let n = 0; n < 5; n++)
    note('j', await paintTime(page, { selector: `tr.current[aria-rowindex="${n + 2}"]` }, () => page.keyboard.press('j')));
}

async function incidentsOneByOne(page: Page, note: Note) {
  for (let n = 0; n < 20; n++) {
    await visit(page, 'Incidents', { selector: 'main tbody th', text: 'checkout is slow' });
    const title = `checkout is slow, ${n} of`;
    note('an incident', await paintTime(page, { selector: 'h1', text: title }, () => page.getByRole('link', { name: title }).click()));
  }
}

async function monitorsOneByOne(page: Page, note: Note) {
  for (let n = 0; n < 20; n++) {
    await visit(page, 'Monitors', { selector: 'main tbody th', text: 'front door' });
    const link = page.locator('main tbody th a').nth(n);
    const name = (await link.textContent()) ?? '';
    note('a monitor', await paintTime(page, { selector: 'h1', text: name }, () => link.click()));
    await page.locator('main .loading').first().waitFor({ state: 'detached' });
    if (n % 4 === 0) {
      const tab = page.getByRole('tab', { name: '7 days' });
      note('its last week', await paintTime(page, { selector: '[role=tab][aria-selected=true]', text: '7 days' }, () => tab.click()));
    }
  }
}

function tell(what: string, times: ReadonlyMap<string, readonly number[]>, mostMs: number) {
  const all = [...times.values()].flat();
  const p95 = at(all, 0.95);
  figure(`${what}, ${all.length} times: p50`, at(all, 0.5), 'ms');
  figure('  p95', p95, 'ms', `< ${mostMs}`, p95 < mostMs);
  for (const [name, own] of [...times].toSorted(([, a], [, b]) => at(b, 0.95) - at(a, 0.95)).slice(0, 5))
    figure(`    the slowest: ${name}, p95 of ${own.length}`, at(own, 0.95), 'ms');
}
