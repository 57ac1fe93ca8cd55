import { escaped } from '../../../../kernel/http/html.ts';
import { trimEndWhile } from './trim-end.ts';

const address = /\bhttps?:\/\/[^\s<>"'`\\]+/gi;
/** These end a sentence more often than an address. */
const endings = new Set('.,;:!?)]}…');
/** RFC 1035, 2.3.4: a longer one is no name of the web. */
const longestLabel = 63;

/** What people wrote, as markup in which addresses are links: those of the web alone, and nothing of ours vouches for them. */
export function linked(text: string): string {
  let made = '';
  let from = 0;
  for (const { 0: found, index } of text.matchAll(address)) {
    const url = trimEndWhile(found, (c) => endings.has(c));
    if (!isWeb(url)) continue;
    const shown = escaped(url);
    made += `${escaped(text.slice(from, index))}<a href="${shown}" rel="nofollow noopener">${shown}</a>`;
    from = index + url.length;
  }
  return made + escaped(text.slice(from));
}

/** Labels are measured first: parsing one with other letters than ASCII costs the square of its length. */
const isWeb = (url: string) => hasShortLabels(url) && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

function hasShortLabels(url: string): boolean {
  const [, , host = ''] = url.split(/[/\\?#]/, 3);
  return host.split(/[.。．｡:@]/).every((label) => label.length <= longestLabel);
}
