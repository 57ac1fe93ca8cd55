/** An address as people read it. */
export const shortUrl = (url: string): string => url.replace(/^https?:\/\//, '');
