import { alertOf, field, usernameField } from './form-parts.ts';

const newPassword = (name: string, label: string) =>
  field(name, label, 'type="password" autocomplete="new-password" minlength="15" maxlength="1000" required');

/** A box that is off, for what follows from a change. */
export const revokeTokensBox =
  '<label class="choice"><input type="checkbox" name="revoke-tokens" value="yes"> <span>Revoke all my tokens too: programs that use them stop working</span></label>';

export const passwordBody = (person: { email: string; hasOne: boolean }, problem?: string): string =>
  `${alertOf(problem)}<p>${person.hasOne ? 'You have a password. Choose another one here.' : 'You have no password yet.'}</p>` +
  `<form class="wide" method="post" action="/account/password">${usernameField(person.email)}` +
  newPassword('password', 'New password') +
  '<p class="faint">At least 15 characters. Four words that do not belong together are good.</p>' +
  newPassword('repeated', 'The same once more') +
  revokeTokensBox +
  '<button>Save the password</button></form><p class="faint">All other browsers are signed out.</p>';

export const passwordSavedBody =
  '<p>Your password is saved. All other browsers are signed out.</p><p><a href="/account">Back to your account</a></p>';
