import { test } from 'node:test';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

test('every part of the console fits a phone and a screen in both schemes, and the browser has nothing to complain of', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  const { page, open, fits } = await consoleOf(t, qd);
  await open('/parts', 'Parts of this console');
  await fits('parts');
  await open('/do/listMonitors', 'List monitors');
  await page.getByText('None.').waitFor();
  await fits('do');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('create monitor');
  await page.getByRole('option').first().waitFor();
  await fits('menu');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Create a monitor' }).waitFor();
  await fits('create-monitor');
});
