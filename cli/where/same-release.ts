/** Behind the plus a version names its build: the commit, or the time. */
export const isSameRelease = (one: string, other: string): boolean => releaseOf(one) === releaseOf(other);

const releaseOf = (version: string) => version.split('+')[0];
