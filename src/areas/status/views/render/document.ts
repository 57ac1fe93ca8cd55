import { escaped } from '../../../../kernel/http/html.ts';
import { type Style, styleOf } from './style.ts';

export interface RenderedPage {
  html: string;
  /** The Content-Security-Policy under which it may be shown. */
  policy: string;
}

export interface Document {
  title: string;
  accent?: string | undefined;
  /** Markup: what comes before <main>, what is in it, and what follows. */
  header: string;
  main: string;
  footer?: string;
  /** Further elements of the head. */
  head?: string;
  /** Whether an image of our own is shown, besides the one inside the page. */
  image?: boolean;
  /** The colour of the small picture in the browser's tab. */
  mark?: string;
}

const styles = new Map<string, Style>();

/** A page for people: no script, nothing from elsewhere, one style that its policy names by hash. */
export function documentOf({
  title,
  accent,
  header,
  main,
  footer = '',
  head = '',
  image = false,
  mark = '#57606a',
}: Document): RenderedPage {
  const style = styleFor(accent);
  const icon = `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23${mark.slice(1)}'/%3E%3C/svg%3E`;
  return {
    policy: `default-src 'none'; style-src ${style.source}; img-src data:${image ? " 'self'" : ''}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="${icon}">${head}<style>${style.css}</style></head><body>${header}<main>${main}</main>${footer}</body></html>\n`,
  };
}

function styleFor(accent = ''): Style {
  const known = styles.get(accent);
  if (known) return known;
  if (styles.size > 500) styles.clear();
  const made = styleOf(accent || undefined);
  styles.set(accent, made);
  return made;
}

/** A page that says one thing. `body` is markup. */
export const noticeOf = (title: string, body: string, accent?: string): RenderedPage =>
  documentOf({
    title,
    accent,
    header: `<header><h1>${escaped(title)}</h1></header>`,
    main: body,
    head: '<meta name="robots" content="noindex">',
  });
