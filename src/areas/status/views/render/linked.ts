import { escaped } from '../../../../kernel/http/html.ts';
import { trimEndWhile } from './trim-end.ts';

const address = /\bhttps?:\/\/[^\s<>"'`\\]+/gi;
/** Characters that end a sentence more often than a URL. */
const endings = new Set('.,;:!?)]}…');
/** RFC 1035, 2.3.4: the longest label of a host name. */
const longestLabel = 63;

/** User text as markup with http and https URLs as links, marked as not endorsed. */
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

/** Checks label lengths first: parsing a long non-ASCII label costs the square of its length. */
const isWeb = (url: string) => hasShortLabels(url) && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

function hasShortLabels(url: string): boolean {
  const [, , host = ''] = url.split(/[/\\?#]/, 3);
  return host.split(/[.。．｡:@]/).every((label) => label.length <= longestLabel);
}
