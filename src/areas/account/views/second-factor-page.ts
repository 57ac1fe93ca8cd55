import { renderSVG } from 'uqr';
import { escaped } from '../../../kernel/http/html.ts';
import { alertOf, field } from './form-parts.ts';
import { revokeTokensBox } from './password-page.ts';

const button = (path: string, label: string, more = '', style = '') =>
  `<form class="wide" method="post" action="/account/second-factor/${path}">${more}<button${style}>${label}</button></form>`;

const codesNote = (left: number) => (left === 1 ? 'You have 1 recovery code left.' : `You have ${left} recovery codes left.`);

export const secondFactorOnBody = (codesLeft: number, problem?: string): string =>
  `${alertOf(problem)}<p>Signing in by password asks for a code of your authenticator app.</p>` +
  `<h2>Recovery codes</h2><p>${codesNote(codesLeft)} Each stands in for the app once.</p>` +
  button('codes', 'Make new codes', '<p class="faint">With new codes, the ones from before stop working.</p>') +
  `<h2>Remove the app</h2>${button('remove', 'Remove the app', `<p>Signing in by password asks for no code any more. All other browsers are signed out.</p>${revokeTokensBox}`, ' class="plain"')}`;

export const secondFactorOffBody = (hasPassword: boolean, problem?: string): string =>
  alertOf(problem) +
  (hasPassword
    ? `<p>An authenticator app on your phone shows a new code every half minute. Signing in by password asks for it.</p>${button('begin', 'Set up an app')}`
    : '<p>Codes of an authenticator app are asked for after a password, and you have none. A passkey needs no code: it is two factors by itself.</p><p><a href="/account/password">Choose a password</a> or <a href="/account/passkeys">add a passkey</a></p>');

/** The secret in groups of four, as people copy it. */
const grouped = (secret: string) => secret.match(/.{1,4}/g)!.join(' ');

const qrCode = (text: string) =>
  renderSVG(text, { border: 3, ecc: 'M' }).replace('<svg ', '<svg width="240" height="240" role="img" aria-label="QR code of the secret" ');

export const setUpBody = (secret: string, url: string, problem?: string): string =>
  `${alertOf(problem)}<p>Scan this with your authenticator app:</p>${qrCode(url)}` +
  `<p>Or type the secret into it:<br><code>${escaped(grouped(secret))}</code></p>` +
  '<form class="wide" method="post" action="/account/second-factor/confirm">' +
  field(
    'code',
    'The code that the app shows now',
    'autocomplete="one-time-code" inputmode="numeric" spellcheck="false" maxlength="12" required',
  ) +
  '<br><button>Switch it on</button></form><p><a href="/account/second-factor">Not now</a></p>';

export const codesBody = (codes: readonly string[]): string =>
  '<p role="alert">These codes are shown once. Print them, or keep them in your password manager.</p>' +
  `<p>Each stands in for the authenticator app once, should you lose it.</p><pre>${codes.map(escaped).join('\n')}</pre>` +
  '<p><a href="/account/second-factor">I have kept them</a></p>';
