import { escaped } from '../../../kernel/http/html.ts';
import { alertOf, codeField, field, hiddenField, usernameField } from './form-parts.ts';
import { passkeyPart } from './passkey-part.ts';

const passwordField = (attributes = '') =>
  field('password', 'Password', `type="password" autocomplete="current-password" maxlength="1000" required${attributes}`);

/** How a person gets in who has neither a password nor a passkey. */
const operatorsLink = (email: string) =>
  `<p class="faint">Neither a password nor a passkey? Ask the operator of this server for a link: <code>quarterdeck admin sign-in-link ${escaped(email || 'you@example.com')}</code></p>`;

export const signInBody = ({ email, next, problem }: { email: string; next: string; problem?: string | undefined }): string =>
  `${alertOf(problem)}<form class="wide" method="post" action="/sign-in">` +
  field(
    'email',
    'Mail address',
    `type="email" autocomplete="username webauthn" maxlength="320" required value="${escaped(email)}"${email ? '' : ' autofocus'}`,
  ) +
  passwordField(email ? ' autofocus' : '') +
  `${hiddenField('next', next)}<br><button>Sign in</button></form>${passkeyPart()}` +
  `<p><a href="/sign-in/forgot">Forgot your password?</a></p>${operatorsLink('')}`;

export const secondStepBody = ({ next, problem }: { next: string; problem?: string | undefined }): string =>
  `${alertOf(problem)}<p>Your password was right. Type the code that your authenticator app shows now.</p>` +
  `<form class="wide" method="post" action="/sign-in/second">${codeField(' autofocus')}${hiddenField('next', next)}<br><button>Sign in</button></form>` +
  '<p class="faint">Without the app, one of your recovery codes works, once. Without those, the operator of this server can make you a link: <code>quarterdeck admin sign-in-link</code></p>' +
  '<p><a href="/sign-in">Sign in with another address</a></p>';

export interface ProvableWays {
  /** The person has a second factor, and this session does not: a password alone is not enough. */
  needsSecondFactor: boolean;
  hasPassword: boolean;
  hasApp: boolean;
  /** One that works at the host of the page. */
  hasPasskey: boolean;
}

export const proveAgainBody = (
  email: string,
  { needsSecondFactor, hasPassword, hasApp, hasPasskey }: ProvableWays,
  { next, problem }: { next: string; problem?: string | undefined },
): string => {
  const why = needsSecondFactor
    ? 'You signed in with your password alone, and what you are about to do asks for your second factor too.'
    : 'What you are about to do asks for proof that it is you.';
  const form = `<form class="wide" method="post" action="/sign-in/again">${usernameField(email)}${passwordField(hasPasskey ? '' : ' autofocus')}${hasApp ? codeField() : ''}${hiddenField('next', next)}<br><button>Continue</button></form>`;
  return (
    `${alertOf(problem)}<p>You are signed in as <b>${escaped(email)}</b>. ${why}</p>` +
    (hasPasskey ? passkeyPart({ isFirst: true }) : '') +
    (hasPassword ? form : '') +
    (hasPasskey && !hasPassword ? '<noscript><p>Your passkey is used by a script: allow JavaScript for this page.</p></noscript>' : '') +
    lastResort(email) +
    `<p><a href="/account">Back to your account</a></p>`
  );
};

const lastResort = (email: string) =>
  `<p class="faint">Is none of this at hand? The operator of this server makes a link that signs you in: <code>quarterdeck admin sign-in-link ${escaped(email)}</code></p>`;
