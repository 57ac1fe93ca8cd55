/** Names that lead to the machine of the browser itself, whatever a name server says. */
const loopbackHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Whether a Host header names this server: a foreign name that resolves here would make a foreign page one of ours. */
export const isOwnHost = (host: string | undefined, publicUrl: string): boolean =>
  host !== undefined && ((loopbackHost.test(host) && URL.canParse(`http://${host}`)) || isPublicHost(host, publicUrl));

/** Browsers leave the usual port out; some proxies write it. */
export function isPublicHost(host: string, publicUrl: string): boolean {
  const { host: own, protocol } = new URL(publicUrl);
  return host.toLowerCase().replace(protocol === 'https:' ? /:443$/ : /:80$/, '') === own;
}
