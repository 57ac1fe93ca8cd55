import { asSentence, escaped } from '../../../kernel/http/html.ts';

/** What was wrong with the form that was sent, above it. */
export const alertOf = (sentence: string | undefined): string => (sentence ? `<p role="alert">${escaped(asSentence(sentence))}</p>` : '');

export const hiddenField = (name: string, value: string): string => `<input type="hidden" name="${name}" value="${escaped(value)}">`;

/** A field with its label above. `attributes` is markup. */
export const field = (name: string, label: string, attributes: string): string =>
  `<label for="${name}">${escaped(label)}</label><input id="${name}" name="${name}" ${attributes}>`;

/** The address, for password managers: they store a password with it. */
export const usernameField = (email: string): string =>
  `<input type="hidden" name="username" autocomplete="username" value="${escaped(email)}">`;

/** A code of an authenticator app, or a recovery code. Phones show digits first and fill it in by themselves. */
export const codeField = (attributes = ''): string =>
  field(
    'code',
    'Code of your authenticator app, or a recovery code',
    `autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="40" required${attributes}`,
  );
