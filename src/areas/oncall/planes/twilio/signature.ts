import { createHmac, timingSafeEqual } from 'node:crypto';

/** Base64 of HMAC-SHA1 over the exact public URL and every parameter, sorted by name. */
export const sign = (authToken: string, url: string, params: Record<string, string>): string =>
  createHmac('sha1', authToken)
    .update(
      url +
        Object.keys(params)
          .sort()
          .map((name) => name + params[name])
          .join(''),
    )
    .digest('base64');

export function isSigned(authToken: string, url: string, params: Record<string, string>, given: string): boolean {
  const expected = Buffer.from(sign(authToken, url, params));
  const presented = Buffer.from(given);
  return expected.length === presented.length && timingSafeEqual(expected, presented);
}
