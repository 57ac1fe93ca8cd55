/**
 * The public URL for a browser, also in mails: a passkey cannot bind to an IP address, so this machine is called localhost there. All pages
 * have one name, because a cookie of one is none of the other.
 */
export function browserUrl(publicUrl: string): string {
  const url = new URL(publicUrl);
  if (url.hostname === '127.0.0.1' || url.hostname === '[::1]') url.hostname = 'localhost';
  return url.href.replace(/\/$/, '');
}
