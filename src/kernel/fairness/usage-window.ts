/** The recent usage of a shared resource by organization, and which organization used the least. */
export interface UsageWindow {
  /** The organization holds this many slots from now on. */
  record(org: string, inside: number): void;
  /** Whether no other recently active organization has used less, counting what this one holds as if it stayed for a while. */
  isLowest(org: string): boolean;
}

/** An organization is active if it held a slot within this time. Older usage decays with the same time constant. */
const activeMs = 1_000;
/** The minimum is recomputed at most this often: there may be thousands of organizations, and every acquire asks. */
const rescanMs = 10;

/** Differences below this are ignored: a small tenant whose work is slow because others are busy is not held back. */
const toleranceMs = activeMs;
/** Held slots count as if they stayed this long: a quiet tenant that arrives with a burst has no past usage yet. */
const expectedMs = 300;

interface OrgUsage {
  /** Slot-milliseconds, decayed by age. */
  used: number;
  inside: number;
  at: number;
}

/** The organization with the least usage, its usage, and the usage of the next one. */
interface LowestUsage {
  org: string;
  used: number;
  next: number;
  foundAt: number;
}

export function makeUsageWindow(now = () => performance.now()): UsageWindow {
  const accounts = new Map<string, OrgUsage>();
  let least: LowestUsage = { org: '', used: Number.POSITIVE_INFINITY, next: Number.POSITIVE_INFINITY, foundAt: Number.NEGATIVE_INFINITY };

  const usedAt = ({ used, inside, at }: OrgUsage, time: number) => {
    const kept = Math.exp((at - time) / activeMs);
    return used * kept + inside * activeMs * (1 - kept);
  };
  /** Past usage plus the expected usage of held slots. */
  const weighAt = (account: OrgUsage, time: number) => usedAt(account, time) + account.inside * expectedMs;
  /** Inactive organizations are removed on the way. */
  const findLeast = (time: number): LowestUsage => {
    if (time - least.foundAt < rescanMs) return least;
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
    record: (org, inside) => {
      const time = now();
      const account = accounts.get(org);
      if (account) Object.assign(account, { used: usedAt(account, time), inside, at: time });
      else accounts.set(org, { used: 0, inside, at: time });
    },
    isLowest: (org) => {
      const time = now();
      const own = accounts.get(org);
      const { org: first, used, next } = findLeast(time);
      return !own || weighAt(own, time) <= (first === org ? next : used) + toleranceMs;
    },
  };
}
