import type { Member } from '../../../identity/store/members.ts';

interface Found {
  isRequired: boolean;
  countWithout: number;
  listed: readonly Member[];
  tokens: ReadonlyMap<string, number>;
}

export const securityView = ({ isRequired, countWithout, listed, tokens }: Found) => ({
  requiresSecondFactor: isRequired,
  membersWithout: countWithout,
  members: listed.map(({ id, email, name }) => ({ userId: id, email, name, tokens: tokens.get(id) ?? 0 })),
});
