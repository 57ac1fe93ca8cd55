import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The script of every page with passkeys: views/passkeys.js. */
export const passkeyScriptPath = '/account/passkeys.js';

let script: { text: Buffer; etag: string } | undefined;

export function passkeyScript(): { text: Buffer; etag: string } {
  const text = script?.text ?? readFileSync(new URL('./passkeys.js', import.meta.url));
  script ??= { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` };
  return script;
}

const said = '<p role="alert" id="passkey-said" hidden></p>';

/** The part of /sign-in and /sign-in/again that passkeys are used by. Hidden until the script shows it. `isFirst`: nothing else stands above it. */
export const passkeyPart = ({ isFirst = false } = {}): string =>
  `<div id="passkey" hidden>${said}<button type="button"${isFirst ? '' : ' class="plain"'} id="passkey-button">Use a passkey</button></div>`;

/** The part of /account/passkeys by which one is added. */
export const newPasskeyPart = (suggestedName: string): string =>
  `<div id="passkey" hidden>${said}<form class="wide" id="passkey-form"><label for="passkey-name">Name</label>` +
  `<input id="passkey-name" maxlength="100" autocomplete="off" value="${suggestedName}"><br>` +
  '<button type="button" id="passkey-button">Add a passkey</button></form></div>' +
  '<noscript><p>A passkey is added by a script: allow JavaScript for this page, or use a password and an authenticator app.</p></noscript>';
