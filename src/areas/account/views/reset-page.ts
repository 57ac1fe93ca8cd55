import { escaped } from '../../../kernel/http/html.ts';
import { alertOf } from './form-parts.ts';

export const forgotForm =
  '<p>We mail you a link that lets you choose a new password.</p><form method="post" class="wide"><label for="email">Your address</label><input id="email" name="email" type="email" maxlength="254" autocomplete="username" required><button>Mail me a link</button></form><p><a href="/sign-in">Sign in</a></p>';

/** The same for known and unknown addresses. */
export const forgotAnswer =
  '<p>If there is an account with this address, a mail with a link is on its way. The link works for an hour.</p><p class="faint">At most three mails an hour go to one address. If none arrives, ask the operator of this server for a link.</p><p><a href="/sign-in">Sign in</a></p>';

export const noMailLeaves =
  '<p>No mail leaves this server. Ask its operator for a link that signs you in, made by:</p><pre>quarterdeck admin sign-in-link &lt;your address&gt;</pre><p><a href="/sign-in">Sign in</a></p>';

export const resetForm = (email: string, problem?: string): string =>
  `${alertOf(problem)}<form method="post" class="wide"><label for="email">Account</label><input id="email" type="email" value="${escaped(email)}" autocomplete="username" readonly><label for="password">New password</label><input id="password" name="password" type="password" minlength="15" maxlength="128" autocomplete="new-password" required aria-describedby="rule"><p id="rule" class="faint">15 characters or more, such as four words. You are signed out everywhere else.</p><button>Set password</button></form>`;
