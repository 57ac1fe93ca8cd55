/**
 * Whether an RFC 3339 text is a time that JavaScript and PostgreSQL both support. They do not support leap seconds, zone names in brackets,
 * or years without exactly four digits; a row with such a year could never be read again.
 */
export const isInstant = (text: string): boolean => {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text)) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999;
};
