/** An IANA name. Offsets such as +02:00 know no daylight saving and would drift against their people; Temporal takes whole timestamps too. */
export const isTimezone = (zone: string): boolean => {
  try {
    return !/^[+-]/.test(zone) && Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
  } catch {
    return false;
  }
};
