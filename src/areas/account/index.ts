/*
 * A person's account: how they sign in, and where they are signed in. `identity` answers whose a session is and what it may do; this area
 * begins and ends sessions.
 *
 * Actors. A person with a browser. The operator, who makes a link for a person who is locked out (`admin sign-in-link`). The first start,
 * which makes one for the owner.
 *
 * engine/ decides in transactions: sessions.ts and ending-sessions.ts begin and end sessions, links.ts makes and uses links, join.ts,
 * reset.ts and profile.ts are the ceremonies behind links that are mailed, tokens.ts revokes a person's tokens, security.ts is the policy of
 * an organization, notices.ts mails a person what happened, device.ts lends a program a token. planes/forms/ are the pages: page.ts is what they
 * share, the others are named after what they show. views/ make their markup. rules/ are pure: ceremonies of passkeys, TOTP, PHC strings, new
 * passwords. store/ is SQL, a file for each table. tasks.ts forgets what is over, and the factors of deleted accounts.
 *
 * Data. `identity.session` is the hash of a cookie and its limits. `account.one_time_link` is the hash of a link that signs one person in.
 * `password`, `totp` (sealed) and `recovery_code` are a person's factors. `pending_sign_in` is a right password that waits for a code. `guesses`
 * counts failures by account, browser and address; `known_browser` names browsers in which a person has signed in.
 *
 * Flow. Link: GET shows whom it signs in → POST deletes its row and inserts the session in one transaction → cookie → /account. Password: the
 * guess is counted → hash, few at a time (engine/hashing.ts) → session, or pending sign-in and /sign-in/second → code → session. A session in
 * the browser from before ends. What is dangerous asks a session to prove itself again (/sign-in/again). A cookie counts on /api/v1 and for
 * forms only from a page of this server (identity/session-cookie.ts).
 *
 * Passkey: POST for a challenge, sealed in a cookie → the browser's answer → its signature is verified → the challenge is used up and the
 * session begins, in one transaction. Device login: a program asks → the person types its code and approves → the program fetches its token
 * once.
 *
 * States. Challenge: sealed → used, once in all processes, or over after five minutes. Session: live → ended by its person, or over (unused
 * for a week, or 30 days old; the task `account.forget` deletes it). Link: unused
 * → used, replaced by a newer one, or over. Authenticator app: none → begun (its secret is shown, and it does not count) → on after one right
 * code → removed. Pending sign-in: waits → signed in, over after ten minutes or five wrong codes, or gone with another password.
 *
 * Crash. Each step is one transaction. Before its commit a link is unused and there is no session; after it the session is there, and its
 * cookie may be lost: the person signs in again, and the session goes unused. A guess that was counted stays counted for an hour. An
 * app that was begun is begun anew; recovery codes that were made and not seen are made anew.
 */

import { defineArea } from '../area.ts';
import { mailAddressLink } from './engine/profile.ts';
import { mailReset } from './engine/reset.ts';
import { trimSessions } from './engine/sessions.ts';
import { recordGuesses } from './engine/sign-in.ts';
import { openAccount } from './open.ts';
import { claimDeviceToken } from './operations/claim-device-token.ts';
import { createDeviceCode } from './operations/create-device-code.ts';
import { endSession } from './operations/end-session.ts';
import { getSecurity } from './operations/get-security.ts';
import { listSessions } from './operations/list-sessions.ts';
import { updateSecurity } from './operations/update-security.ts';
import { forgetEnded, forgetFactors } from './tasks.ts';

export { isOwnerUnclaimed, makeClaimLink } from './engine/claims.ts';
export { makeLink } from './engine/links.ts';
export { changeAddress } from './engine/profile.ts';

export const account = defineArea<undefined>({
  name: 'account',
  operations: [listSessions, endSession, getSecurity, updateSecurity, createDeviceCode, claimDeviceToken],
  migrations: { schema: 'account', folder: new URL('./migrations/', import.meta.url) },
  jobs: [mailReset, mailAddressLink, recordGuesses, trimSessions],
  tasks: [forgetEnded, forgetFactors],
  sealed: [{ table: 'account.totp', column: 'secret', id: 'user_id' }],
  open: openAccount,
});
