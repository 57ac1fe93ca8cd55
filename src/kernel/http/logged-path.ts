/** Links in mails carry their secret as a part of the path. Digests are shown: they have a colon. */
const isSecretLike = (part: string) => part.length >= 32 && !part.includes(':');

/** A request's path for the log: without its query, and without what may be a secret. */
export const loggedPath = (url = ''): string =>
  url
    .split('?', 1)[0]!
    .split('/')
    .map((part) => (isSecretLike(part) ? '(hidden)' : part))
    .join('/');
