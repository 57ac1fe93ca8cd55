import type { SignInMethod } from '../../../../contract/sign-in-methods.ts';
import type { ListedSession } from '../../../identity/store/sessions.ts';

export const sessionView = (s: ListedSession, currentId: string) => ({
  id: s.id,
  isCurrent: s.id === currentId,
  methods: s.methods as SignInMethod[],
  address: s.address,
  agent: s.agent,
  createdAt: s.created_at,
  lastSeenAt: s.seen_at,
  endsAt: s.ends_at,
});
