import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { CDPSession, Page } from 'playwright-core';
import { browser } from '../../../../test/harness/browser.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { makeLink } from '../index.ts';
import { deletePasskey, passkeysOf } from '../store/passkeys.ts';
import { named } from './passkeys.ts';

/** Notes each complaint of the browser, and each request to another origin. */
function watch(page: Page, url: string): string[] {
  const noted: string[] = [];
  page.on('console', (message) => message.type() === 'error' && noted.push(message.text()));
  page.on('pageerror', (error) => noted.push(String(error)));
  page.on('request', (request) => request.url().startsWith(url) || noted.push(request.url()));
  return noted;
}

const pictures = process.env['QUARTERDECK_PICTURES'];

/** Every page fits a phone and a screen, and a judge of accessibility finds nothing. */
async function fits(page: Page, name: string): Promise<void> {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 740 });
    assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, `${name} at ${width} px`);
    for (const colorScheme of pictures ? (['light', 'dark'] as const) : []) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  assert.deepEqual(
    violations.map((v) => `${v.id} ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`),
    [],
    name,
  );
}

/** An authenticator built into the browser's machine, such as a fingerprint reader. */
async function withAuthenticator(cdp: CDPSession): Promise<string> {
  await cdp.send('WebAuthn.enable', { enableUI: false });
  const options = {
    protocol: 'ctap2' as const,
    transport: 'internal' as const,
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  return (await cdp.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId;
}

test('a browser follows the link, adds a passkey, signs out, and signs in by button and by autofill', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const url = named(qd.url);
  const chromium = await browser(t);
  const context = await chromium.newContext({ locale: 'en-GB', viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const noted = watch(page, url);
  const cdp = await context.newCDPSession(page);
  const authenticatorId = await withAuthenticator(cdp);
  const automatic = (enabled: boolean) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });

  const { secret } = await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'claim'));
  await page.goto(`${url}/sign-in/link/${secret}`);
  await fits(page, 'link');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/account');
  await fits(page, 'account-first');
  await page.getByRole('link', { name: 'Add a passkey' }).click();
  assert.equal(await page.getByLabel('Name').inputValue(), 'Chrome on Linux');
  await page.getByLabel('Name').fill('my laptop');
  await fits(page, 'passkeys-none');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('my laptop').waitFor();
  await page.getByText('Rename or remove').click();
  await fits(page, 'passkeys-one');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('This device has a passkey for your account already').waitFor();
  await fits(page, 'passkeys-twice');

  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('You are signed out of this browser').waitFor();

  await automatic(false);
  assert.equal(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href'), '/sign-in?next=/o', 'to the console');
  await page.goto(`${url}/sign-in`);
  await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  await fits(page, 'sign-in');
  await automatic(true); // not for the autofill, which waits already
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL('**/account');

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.goto(`${url}/sign-in?next=/account/passkeys`);
  await page.getByText('last used').waitFor(); // the browser offered the only passkey, and the authenticator took it

  await qd.clock.advance('16m');
  await page.reload();
  await page.getByRole('link', { name: 'Confirm that it is you' }).last().click();
  await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  await fits(page, 'again');
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('button', { name: 'Add a passkey' }).waitFor();
  assert.deepEqual(noted, []);

  // Without a finger or a PIN the browser itself refuses; a passkey that was removed here is refused by the server.
  await page.goto(`${url}/account`);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await page.goto(`${url}/sign-in`);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('No passkey was used').waitFor();
  assert.deepEqual(noted, []);
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await qd.app.db.write(async (tx) => {
    for (const { id } of await passkeysOf(tx, qd.owner.userId)) await deletePasskey(tx, qd.owner.userId, id);
  });
  // A browser without autofill, which would take the passkey by itself before or beside the click.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
  await page.goto(`${url}/sign-in`);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('this passkey is not known here').waitFor();

  // At an IP address the page names the address to open instead.
  await page.goto(`${qd.url}/sign-in`);
  await page.getByRole('link', { name: `${url}/sign-in` }).waitFor();
  await fits(page, 'sign-in-ip');
});
