export interface Login {
  /** Undefined for a refresh token, which names its key by itself. */
  username: string | undefined;
  password: string;
}

/** RFC 7617: the user name ends at the first colon. */
export function basicLogin(header: string | undefined): Login | undefined {
  if (header === undefined || !/^basic /i.test(header)) return undefined;
  const text = Buffer.from(header.slice(6).trim(), 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

export const bearerToken = (header: string | undefined): string | undefined =>
  header !== undefined && /^bearer /i.test(header) ? header.slice(7).trim() : undefined;
