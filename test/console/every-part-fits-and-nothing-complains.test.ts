import assert from 'node:assert/strict';
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

  // Walked through by Tab on a phone, what has the focus never stands behind the bars above and below.
  await page.setViewportSize({ width: 360, height: 640 });
  await open('/parts', 'Parts of this console');
  const hidden: unknown[] = [];
  for (let n = 0; n < 60; n++) {
    await page.keyboard.press('Tab');
    hidden.push(await page.evaluate(whatHidesFocus));
  }
  assert.deepEqual(hidden.filter(Boolean), []);
});

/** The focused element of the screen, if a bar covers its middle. */
const whatHidesFocus = `(() => {
  const element = document.activeElement;
  if (!element?.closest('main')) return null;
  const { left, top, width, height } = element.getBoundingClientRect();
  const above = document.elementFromPoint(left + width / 2, top + Math.min(height, 24) / 2);
  return !above || above.closest('nav.thumb, header.top') ? element.outerHTML.slice(0, 120) : null;
})()`;
