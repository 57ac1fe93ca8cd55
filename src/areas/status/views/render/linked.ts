import { escaped } from '../../../../kernel/http/html.ts';

const address = /\bhttps?:\/\/[^\s<>"'`\\]+/gi;
/** These end a sentence more often than an address. */
const ending = /[.,;:!?)\]}…]+$/;

/** What people wrote, as markup in which addresses are links: those of the web alone, and nothing of ours vouches for them. */
export function linked(text: string): string {
  let made = '';
  let from = 0;
  for (const { 0: found, index } of text.matchAll(address)) {
    const url = found.replace(ending, '');
    if (!isWeb(url)) continue;
    const shown = escaped(url);
    made += `${escaped(text.slice(from, index))}<a href="${shown}" rel="nofollow noopener">${shown}</a>`;
    from = index + url.length;
  }
  return made + escaped(text.slice(from));
}

const isWeb = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
