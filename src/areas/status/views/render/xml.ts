import { escaped } from '../../../../kernel/http/html.ts';

/** XML 1.0, 2.2: these cannot stand in a document, not even as references. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Whatever people wrote, as XML text. */
export const xml = (text: string): string => escaped(text.replaceAll(forbidden, '').toWellFormed());
