/** An IANA name. Offsets such as +02:00 know no daylight saving time; Temporal accepts whole timestamps too. */
export const isTimezone = (zone: string): boolean => {
  try {
    return !/^[+-]/.test(zone) && Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
  } catch {
    return false;
  }
};
