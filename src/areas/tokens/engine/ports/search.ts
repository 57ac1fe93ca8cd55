import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchTokens } from '../../store/ports/search.ts';

/** The caller's own. A narrowed token shows itself and what was minted with it, as the list of tokens does. */
export const tokensSearch: SearchSource = {
  read: (tx, { org, user, principal }, _own, wanted) => {
    const above = principal.scopes.length ? principal.id : undefined;
    return searchEach([{ kind: 'token', visible: '*', search: () => searchTokens(tx, org, user.id, above, wanted) }]);
  },
};
