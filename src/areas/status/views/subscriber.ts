import type { SubscriberRow } from '../store/subscribers.ts';

export const subscriberView = (s: SubscriberRow) => ({
  id: s.id,
  address: s.address,
  state: s.state,
  createdAt: s.created_at,
  ...(s.confirmed_at ? { confirmedAt: s.confirmed_at } : {}),
});
