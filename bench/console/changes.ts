import { setTimeout as sleep } from 'node:timers/promises';
import { at, figure } from '../clusters/figure.ts';
import { type MeasuredConsole, tellLoad } from './measured-console.ts';
import { paintTime, startLooking, whenPainted } from './paint-clock.ts';

const changes = 30;

/** One browser acknowledges, another one that looks at the list shows it: from the click in the first to the frame in the second. */
export async function measureChanges({ page: newPage, screen, owner }: MeasuredConsole): Promise<void> {
  const ids: string[] = [];
  for (let n = 0; n < changes; n++) {
    const { body } = await owner.post('/oncall/incidents', {
      serviceId: `svc_${'1'.padStart(26, '0')}`,
      title: `mail is late, ${n} of ${changes}`,
    });
    ids.push(body.id);
  }
  tellLoad();
  const [acting, watching] = [await newPage(), await newPage()];
  await watching.goto(screen('/oncall/incidents'));
  await watching.locator('.live.live').waitFor();
  await acting.goto(screen('/oncall/incidents'));
  await acting.locator('.live.live').waitFor();
  const took: number[] = [];
  for (const [n, id] of ids.entries()) {
    const title = `mail is late, ${n} of`;
    await paintTime(acting, { selector: 'h1', text: title }, () => acting.getByRole('link', { name: title }).click());
    // Hints of a change that follows another within seconds come in rounds; each of these finds the page quiet.
    await sleep(2_500 + ((n * 37) % 200));
    await startLooking(watching, { selector: `tr[data-key="${id}"] .state`, text: 'acknowledged' }, { isActing: false });
    await startLooking(acting, { selector: 'header .state', text: 'acknowledged' });
    await acting.getByRole('button', { name: 'Acknowledge' }).click();
    const [{ pressedAt }, { paintedAt }] = await Promise.all([whenPainted(acting), whenPainted(watching)]);
    took.push(paintedAt - pressedAt);
    await acting.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Incidents' }).click();
    await acting.getByRole('heading', { level: 1, name: 'Incidents' }).waitFor();
  }
  const p95 = at(took, 0.95);
  figure(`a change in another browser, painted here, ${took.length} times: p50`, at(took, 0.5), 'ms');
  figure('  p95', p95, 'ms', '< 300', p95 < 300);
  for (const page of [acting, watching]) await page.context().close();
}
