import { escaped } from '../../../kernel/http/html.ts';
import type { ListedPasskey } from '../store/passkeys.ts';
import { newPasskeyPart } from './passkey-part.ts';

export interface ShownPasskeys {
  passkeys: readonly ListedPasskey[];
  /** The host of the page; undefined where it cannot have passkeys. */
  rpId: string | undefined;
  /** Why it cannot, and the address to open instead. */
  why: { reason: string; open?: string };
  isFresh: boolean;
  suggestedName: string;
}

/** The page /account/passkeys: the passkeys of a person, and a form for another. */
export const passkeysPage = (shown: ShownPasskeys): string =>
  '<p>A passkey signs you in without a password: by a finger, a face or a PIN on your own device. It counts as two factors.</p>' +
  (shown.passkeys.length
    ? `<ul>${shown.passkeys.map((passkey) => `<li>${describe(passkey, shown)}</li>`).join('')}</ul>`
    : '<p>You have none yet.</p>') +
  `<h2>Add a passkey</h2>${addPart(shown)}`;

function addPart({ rpId, why: { reason, open }, isFresh, suggestedName }: ShownPasskeys): string {
  const instead = open ? ` Open <a href="${escaped(open)}">${escaped(open)}</a> instead.` : '';
  if (rpId === undefined) return `<p>${escaped(reason)}${instead}</p>`;
  return isFresh ? newPasskeyPart(escaped(suggestedName)) : `<p>${confirmLink} to add or remove passkeys.</p>`;
}

const confirmLink = '<a href="/sign-in/again?next=/account/passkeys">Confirm that it is you</a>';

const day = (at: string) => at.slice(0, 10);

function describe({ id, name, rp_id, created_at, used_at }: ListedPasskey, { rpId, isFresh }: ShownPasskeys): string {
  const path = `/account/passkeys/${encodeURIComponent(id)}`;
  const where = rp_id === rpId ? rp_id : `${rp_id} only, not this address`;
  const used = used_at ? `last used ${day(used_at)}` : 'not used yet';
  const field = `name-${escaped(id)}`;
  const rename = `<form class="wide" method="post" action="${path}/name"><label for="${field}">New name</label><input id="${field}" name="name" maxlength="100" required autocomplete="off" value="${escaped(name)}"><br><button class="plain">Rename</button></form>`;
  const remove = isFresh
    ? `<form class="wide" method="post" action="${path}/remove"><p>It signs you in no more, and you are signed out in all other browsers.</p><button class="plain">Remove</button></form>`
    : `<p>${confirmLink} to remove it.</p>`;
  return (
    `<b>${escaped(name)}</b><br><span class="faint">works on ${escaped(where)}; added ${day(created_at)}, ${used}</span>` +
    `<details><summary>Rename or remove</summary>${rename}${remove}</details>`
  );
}
