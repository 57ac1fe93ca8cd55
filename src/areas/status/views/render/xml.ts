import { escaped } from '../../../../kernel/http/html.ts';

/** XML 1.0, 2.2: characters that a document cannot contain, not even as references. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** User text as XML text. */
export const xml = (text: string): string => escaped(text.replaceAll(forbidden, '').toWellFormed());
