/**
 * Whether a text that RFC 3339 allows is a time that JavaScript and PostgreSQL both hold. They do not know leap seconds, names of zones
 * in brackets, or years of other than four digits, and a row with such a year could never be read again.
 */
export const isInstant = (text: string): boolean => {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text)) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999;
};
