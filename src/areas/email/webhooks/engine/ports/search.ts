import { type SearchSource, searchEach, wholly } from '../../../../ports.ts';
import { searchWebhooks } from '../../store/ports/search.ts';

export const webhooksSearch: SearchSource = {
  entitlement: 'email',
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([{ kind: 'webhook', visible: wholly(reach('email.webhook.read')), search: () => searchWebhooks(tx, org, wanted) }]),
};
