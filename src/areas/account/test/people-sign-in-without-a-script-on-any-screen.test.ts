import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { browser } from '../../../../test/harness/browser.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { makeLink } from '../index.ts';
import { authenticatorApp, goodPassword } from './passwords.ts';
import { asks } from './support.ts';

const pictures = process.env['QUARTERDECK_PICTURES'];
/** Both have one palette each for all pages, so the dark one is judged where each element stands at least once. */
const both = ['light', 'dark'] as const;

/** A browser of people who allow no script, and a judge who looks at what they see. */
async function openWithoutScript(t: TestContext) {
  const chromium = await browser(t);
  const judge = await (await chromium.newContext({ locale: 'en-GB' })).newPage();
  const open = async (): Promise<Page> => {
    const page = await (await chromium.newContext({ locale: 'en-GB', javaScriptEnabled: false })).newPage();
    page.setDefaultTimeout(30_000);
    return page;
  };
  /** A page fits a phone and a screen, and the judge of accessibility, who is a script, finds nothing. */
  const suits = async (page: Page, name: string, schemes: readonly ('light' | 'dark')[] = ['light']): Promise<void> => {
    await judge.setContent(await page.content());
    for (const colorScheme of pictures ? both : schemes) {
      await Promise.all([page, judge].map((each) => each.emulateMedia({ colorScheme })));
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 740 });
        assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, `${name} at ${width} px`);
        if (pictures) await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true });
      }
      const axe = new AxeBuilder({ page: judge }).setLegacyMode().options({ rules: { 'target-size': { enabled: true } } });
      const { violations } = await axe.analyze();
      assert.deepEqual(
        violations.map((v) => `${v.id} ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`),
        [],
        `${name}, ${colorScheme}`,
      );
    }
  };
  return { open, suits };
}

test('people sign in and look after their account without a script, on any screen', { timeout: 240_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const { open, suits } = await openWithoutScript(t);
  const url = qd.url.replace('127.0.0.1', 'localhost');
  const page = await open();
  const go = (path: string) => page.goto(`${url}${path}`);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

  await go('/sign-in/link/qd_once_unknown');
  await page.getByText('Unknown link').waitFor();
  await suits(page, 'refused');
  const { secret } = await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'claim'));
  await go(`/sign-in/link/${secret}`);
  await press('Sign in');
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await suits(page, 'account-first', both);
  await page.getByRole('link', { name: 'Passkeys', exact: true }).click();
  await page.getByRole('heading', { name: 'Add a passkey' }).waitFor();
  await suits(page, 'passkeys-no-script');

  await page.getByRole('link', { name: 'Second factor' }).click();
  await suits(page, 'second-factor-no-password');
  await page.getByRole('link', { name: 'Choose a password' }).click();
  await page.getByLabel('New password').fill('password password');
  await page.getByLabel('The same once more').fill('password password');
  await press('Save the password');
  await page.getByRole('alert').waitFor();
  await suits(page, 'password-weak');
  await page.getByLabel('New password').fill(goodPassword);
  await page.getByLabel('The same once more').fill(goodPassword);
  await press('Save the password');
  await page.getByText('Your password is saved').waitFor();
  await suits(page, 'password-saved');

  await page.getByRole('link', { name: 'Second factor' }).click();
  await suits(page, 'second-factor-off');
  await press('Set up an app');
  const app = authenticatorApp(qd, (await page.locator('code').textContent())!.replaceAll(/\s/g, ''));
  await page.getByLabel('The code that the app shows now').fill('000000');
  await press('Switch it on');
  await page.getByText('The code is wrong').waitFor();
  await suits(page, 'second-factor-app', both);
  await page.getByLabel('The code that the app shows now').fill(await app.next());
  await press('Switch it on');
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  await suits(page, 'recovery-codes', both);
  await page.getByRole('link', { name: 'I have kept them' }).click();
  await suits(page, 'second-factor-on');

  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await press('Sign out');
  await page.getByText('You are signed out of this browser').waitFor();
  await suits(page, 'signed-out');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await suits(page, 'sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await suits(page, 'forgot-no-mail');
  await go('/sign-in?next=/account/tokens');
  await page.getByLabel('Mail address').fill(qd.owner.email);
  await page.getByLabel('Password').fill('not the password at all');
  await press('Sign in');
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByLabel('Mail address').inputValue(), qd.owner.email, 'the address is typed once');
  await suits(page, 'sign-in-wrong', both);
  await page.getByLabel('Password').fill(goodPassword);
  await press('Sign in');
  await page.getByRole('heading', { name: 'Second step' }).waitFor();
  await suits(page, 'second-step');
  await page.getByLabel('Code of your authenticator app').fill('000000');
  await press('Sign in');
  await page.getByText('The code is wrong').waitFor();
  await suits(page, 'second-step-wrong');
  await page.getByLabel('Code of your authenticator app').fill(await app.next());
  await press('Sign in');
  await page.waitForURL('**/account/tokens');
  await suits(page, 'tokens', both);

  // A program asks, and gets what the person chooses.
  const asked = await asks(qd.anonymous, 'quarterdeck on a laptop with a rather long name');
  await go('/device');
  await page.getByLabel('Code').fill('BCDF-GHJK');
  await press('Go on');
  await page.getByRole('alert').waitFor();
  await suits(page, 'device-wrong');
  await page.getByLabel('Code').fill(asked.userCode);
  await press('Go on');
  await page.getByRole('heading', { name: 'Let a program act for you' }).waitFor();
  await page.getByText('Roles', { exact: true }).click();
  await suits(page, 'device-approve', both);
  await press('Approve');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  await suits(page, 'device-approved');

  // A session is ended from another browser.
  const elsewhere = await signedIn(qd, qd.owner.userId);
  await go('/account');
  await suits(page, 'account', both);
  await page.getByRole('button', { name: 'Sign out there' }).first().click();
  await page.waitForURL('**/account');
  assert.equal((await elsewhere.api('GET', '/me')).status, 401);

  await qd.clock.advance('16m');
  await go('/account/password');
  await page.getByRole('heading', { name: 'Is it you?' }).waitFor();
  await suits(page, 'again');
  await page.getByLabel('Password').fill(goodPassword);
  await page.getByLabel('Code of your authenticator app').fill(await app.next());
  await press('Continue');
  await page.waitForURL('**/account/password');

  // A colleague joins.
  const { link } = (await qd.owner.post('/organization/invitations', { email: 'ada@example.com' })).body;
  await page.goto(link);
  await page.getByText('You are signed in as').waitFor();
  await suits(page, 'join-as-another');
  const newcomer = await open();
  await newcomer.goto(link);
  await suits(newcomer, 'join');
  await newcomer.getByLabel('Your name').fill('Ada');
  await newcomer.getByRole('button', { name: 'Join' }).click();
  await newcomer.waitForURL('**/account');
  await suits(newcomer, 'account-joined');
});
