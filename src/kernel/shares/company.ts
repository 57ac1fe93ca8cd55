/** Whether somebody has what runs out to themselves, or others had some of it a moment ago. */
export interface Company {
  /** This organization has some of it now. */
  note(org: string): void;
  isAlone(org: string): boolean;
}

/** Others are there if they had some of it within this time. */
const activeMs = 1_000;

export function makeCompany(now = () => performance.now()): Company {
  /** Whoever was there last, and whoever else was before: enough to know whether somebody other than this one was. */
  let last = { org: '', at: Number.NEGATIVE_INFINITY };
  let other = last;
  return {
    note: (org) => {
      const at = now();
      if (last.org === org) last.at = at;
      else [other, last] = [last, { org, at }];
    },
    isAlone: (org) => (last.org === org ? other : last).at < now() - activeMs,
  };
}
