/** Who shares something that runs out at this moment, and who of them has had least of it lately. */
export interface Company {
  /** This organization has so many of it inside from now on. */
  note(org: string, inside: number): void;
  /** Whether nobody else was there a moment ago who has had less, also once what this one has inside has been there for a while. */
  hasLeast(org: string): boolean;
}

/** Others are there if they had some of it within this time; what they had fades as quickly. */
const activeMs = 1_000;
/** So often those who are there are looked through: there may be thousands, and it is asked at every turn. */
const lookMs = 10;

/** One more or less is no difference: whoever has little to do and is slow at it, because others are busy, is not held back for that. */
const alikeMs = activeMs;
/** What is inside counts as if it stayed for so long: whoever was quiet and comes with many at once has not had any of it yet. */
const expectedMs = 300;

interface Account {
  /** Milliseconds that one was inside, two count twice; older ones count less. */
  used: number;
  inside: number;
  at: number;
}

/** Who has had least, how much that was, and how much the next one had. */
interface Least {
  org: string;
  used: number;
  next: number;
  foundAt: number;
}

export function makeCompany(now = () => performance.now()): Company {
  const accounts = new Map<string, Account>();
  let least: Least = { org: '', used: Number.POSITIVE_INFINITY, next: Number.POSITIVE_INFINITY, foundAt: Number.NEGATIVE_INFINITY };

  const usedAt = ({ used, inside, at }: Account, time: number) => {
    const kept = Math.exp((at - time) / activeMs);
    return used * kept + inside * activeMs * (1 - kept);
  };
  /** What somebody has had, and will have had soon. */
  const weighAt = (account: Account, time: number) => usedAt(account, time) + account.inside * expectedMs;
  /** Those who left long ago are forgotten. */
  const findLeast = (time: number): Least => {
    if (time - least.foundAt < lookMs) return least;
    least = { org: '', used: Number.POSITIVE_INFINITY, next: Number.POSITIVE_INFINITY, foundAt: time };
    for (const [org, account] of accounts) {
      const used = weighAt(account, time);
      if (account.inside === 0 && time - account.at > activeMs) accounts.delete(org);
      else if (used < least.used) Object.assign(least, { org, used, next: least.used });
      else least.next = Math.min(least.next, used);
    }
    return least;
  };

  return {
    note: (org, inside) => {
      const time = now();
      const account = accounts.get(org);
      if (account) Object.assign(account, { used: usedAt(account, time), inside, at: time });
      else accounts.set(org, { used: 0, inside, at: time });
    },
    hasLeast: (org) => {
      const time = now();
      const own = accounts.get(org);
      const { org: first, used, next } = findLeast(time);
      return !own || weighAt(own, time) <= (first === org ? next : used) + alikeMs;
    },
  };
}
