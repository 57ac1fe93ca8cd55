/*
 * Personal tokens: minting, narrowing, listing and revoking. `identity` answers whose a token is and what it may do; this area changes that.
 *
 * Actors. A member mints with a token of their own. A new member gets the first token by joining (areas/organization). The operator mints at
 * the command line (`mintTokenFor`), and each start renews the key in data/owner.token (`refreshMachineToken`).
 *
 * Data. `identity.token` holds the hash of the key, the scope, the ceilings and the ids of all minters, oldest first: its lineage. The key
 * is shown once, when the token is made. Limits stand in rules/limits.ts.
 *
 * Minting: lock the calling token and its minters → check generation, lifetime and quota → check the scope against the caller's rights →
 * insert → audit. A token ends no later than its minters, and every lookup bounds it by their scopes, by reference.
 *
 * States: enabled ⇄ disabled → expired (listed for 90 days, then deleted by the task `tokens.forget`). A revoked token is deleted at once,
 * with its descendants.
 *
 * Lock order: the rights locks of `ctx.write`, then token rows by id, then the member. A revocation and a change of scope begin with the
 * exclusive lock of the token's topic, so a request under way either commits before or is refused (decision 0019).
 *
 * Crash. Each change is one transaction with its audit row and the notice that drops cached principals. Only `lastRequest`, which
 * identity/last-request.ts writes in batches, can lose its last seconds.
 */

import { defineArea } from '../area.ts';
import { tokensOverview } from './engine/ports/overview.ts';
import { tokensSearch } from './engine/ports/search.ts';
import { openTokens } from './open.ts';
import { createToken } from './operations/create-token.ts';
import { deleteToken } from './operations/delete-token.ts';
import { listScopeOptions } from './operations/list-scope-options.ts';
import { listTokens } from './operations/list-tokens.ts';
import { updateToken } from './operations/update-token.ts';
import { forgetTokens } from './tasks.ts';

export { refreshMachineToken } from './engine/machine-token.ts';
export { mintFirstToken, mintToken, mintTokenFor, revokeToken } from './engine/tokens.ts';
export { lastsFor } from './store/machine-token.ts';
export { lockToken, tokensOf } from './store/tokens.ts';

export const tokens = defineArea({
  name: 'tokens',
  operations: [listTokens, createToken, listScopeOptions, updateToken, deleteToken],
  overview: [tokensOverview],
  search: [tokensSearch],
  tasks: [forgetTokens],
  open: openTokens,
});
