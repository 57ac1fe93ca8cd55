const dayMs = 86_400_000;
const warnDays = 7;

/** `ends in 29 days`. `isSoon`: the user should log in again. */
export function expiryInWords(expiresAt: string, now: number): { says: string; isSoon: boolean } {
  const left = new Date(expiresAt).getTime() - now;
  if (Number.isNaN(left)) return { says: 'unknown', isSoon: false };
  if (left <= 0) return { says: 'has ended', isSoon: true };
  const days = Math.floor(left / dayMs);
  const hours = Math.floor(left / 3_600_000);
  const amount =
    days >= 1 ? `${days} ${days === 1 ? 'day' : 'days'}` : hours >= 1 ? `${hours} ${hours === 1 ? 'hour' : 'hours'}` : 'less than an hour';
  return { says: `ends in ${amount}`, isSoon: days < warnDays };
}
