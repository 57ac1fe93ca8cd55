import ipaddr from 'ipaddr.js';
import { exitCodes, Stop } from '../errors.ts';

/** Whether an address is one of the operator's proxies, whose forwarding headers are trusted. */
export function isTrusted(list: string[]): (address: string | undefined) => boolean {
  const ranges = list.map((entry) => {
    try {
      return entry.includes('/')
        ? ipaddr.parseCIDR(entry)
        : ([ipaddr.process(entry), ipaddr.process(entry).kind() === 'ipv4' ? 32 : 128] as const);
    } catch {
      throw new Stop(
        exitCodes.configuration,
        `the setting QUARTERDECK_TRUSTED_PROXIES is wrong: "${entry}" is neither an address nor a CIDR`,
      );
    }
  });
  return (text) => {
    if (!ranges.length || text === undefined || !ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range as never, bits));
  };
}
